.PHONY: demo test check soak bench lock

demo test check soak lock:
	python3 dev.py $@

bench:
	python3 dev.py bench $(NAME)
