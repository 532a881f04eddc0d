import unittest

from prices import total


class TotalTest(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(total([1, 2, 3]), 6)

    def test_discount_is_in_percent(self):
        self.assertEqual(total([150, 50], discount=25), 150)


if __name__ == "__main__":
    unittest.main()
