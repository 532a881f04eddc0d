from __future__ import annotations

from pathlib import Path

import pytest

from piolet.app.packages.manifest import package_root, read_manifest
from piolet.app.packages.sources import PackageError, PypiSource


def test_the_first_manifest_counts(tmp_path: Path) -> None:
    (tmp_path / "pi.toml").write_text('skills = ["c"]', encoding="utf-8")
    assert read_manifest(tmp_path).entries == {"skills": ["c"]}
    (tmp_path / "pyproject.toml").write_text('[tool.pi]\nskills = ["b"]\nchangelogPath = "C.md"', encoding="utf-8")
    assert read_manifest(tmp_path).changelog == "C.md"
    (tmp_path / "package.json").write_text('{"name": "x"}', encoding="utf-8")
    assert read_manifest(tmp_path).entries == {"skills": ["b"]}
    (tmp_path / "package.json").write_text('\ufeff{"pi": {"prompts": ["a", 3], "themes": "x"}}', encoding="utf-8")
    assert read_manifest(tmp_path).entries == {"prompts": ["a"]}


def test_a_manifest_without_lists_leaves_it_to_the_folders(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) is None
    (tmp_path / "package.json").write_text('{"pi": {}}', encoding="utf-8")
    assert read_manifest(tmp_path) is None


@pytest.mark.parametrize(("name", "text"), [("package.json", "{"), ("pi.toml", "x ="), ("pyproject.toml", "[")])
def test_a_broken_manifest_is_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(PackageError, match=f"{name} cannot be used"):
        read_manifest(tmp_path)


def test_a_distribution_names_its_import_package(tmp_path: Path) -> None:
    (tmp_path / "other_name/inner").mkdir(parents=True)
    info = tmp_path / "My_Pkg-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(
        "[console_scripts]\nx = a:b\n\n[pi.packages]\nmain = other_name.inner\n[z]\n", encoding="utf-8"
    )
    assert package_root(PypiSource("my-pkg", "my-pkg"), tmp_path) == tmp_path / "other_name/inner"


def test_without_entry_point_the_import_package_has_the_name_of_the_distribution(tmp_path: Path) -> None:
    assert package_root(PypiSource("my-pkg", "my-pkg"), tmp_path) == tmp_path
    (tmp_path / "my_pkg").mkdir()
    assert package_root(PypiSource("my-pkg", "my-pkg"), tmp_path) == tmp_path / "my_pkg"
