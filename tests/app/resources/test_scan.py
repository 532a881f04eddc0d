from __future__ import annotations

from pathlib import Path

from piolet.app.resources.scan import scan_extensions, scan_files, scan_skills


def make(root: Path, *names: str, **files: str) -> str:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files.get(name, ""), encoding="utf-8")
    return str(root)


def relative(root: Path, paths: list[str]) -> list[str]:
    return [str(Path(path).relative_to(root)) for path in paths]


def test_a_folder_with_skill_md_is_one_skill(tmp_path: Path) -> None:
    make(tmp_path, "a/SKILL.md", "a/inner/SKILL.md", "a/loose.md", "b/c/SKILL.md", "top.md", "b/notes.md")
    assert relative(tmp_path, scan_skills(str(tmp_path))) == ["a/SKILL.md", "b/c/SKILL.md", "top.md"]


def test_loose_files_may_count_only_below(tmp_path: Path) -> None:
    make(tmp_path, "top.md", "g/loose.md", "g/h/deep.md", "s/SKILL.md")
    assert relative(tmp_path, scan_skills(str(tmp_path), loose_below=True)) == [
        "g/h/deep.md",
        "g/loose.md",
        "s/SKILL.md",
    ]


def test_what_is_named_skill_md_but_no_file_is_no_skill(tmp_path: Path) -> None:
    make(tmp_path, "a/SKILL.md/x.md", "a/b/SKILL.md", "c/d/SKILL.md")
    (tmp_path / "c/SKILL.md").symlink_to("nowhere")
    assert relative(tmp_path, scan_skills(str(tmp_path))) == ["a/b/SKILL.md", "c/d/SKILL.md"]


def test_hidden_names_and_node_modules_are_skipped(tmp_path: Path) -> None:
    make(tmp_path, ".x/SKILL.md", "node_modules/y/SKILL.md", "z/SKILL.md")
    assert relative(tmp_path, scan_skills(str(tmp_path))) == ["z/SKILL.md"]


def test_ignore_files_hold_in_their_folder_and_below(tmp_path: Path) -> None:
    make(tmp_path, "a/SKILL.md", "b/a/SKILL.md", "b/c/SKILL.md", "d/SKILL.md", "e/f/SKILL.md", "e/g/SKILL.md", "h.md")
    (tmp_path / ".gitignore").write_text("/a\n# comment\n", encoding="utf-8")
    (tmp_path / "b/.ignore").write_text("c/\n", encoding="utf-8")
    (tmp_path / ".fdignore").write_text("\ufeffd\n*.md\n!SKILL.md\ne/*\n!e/g\n", encoding="utf-8")
    assert relative(tmp_path, scan_skills(str(tmp_path))) == ["b/a/SKILL.md", "e/g/SKILL.md"]


def test_an_ignore_file_below_decides_over_one_above(tmp_path: Path) -> None:
    make(tmp_path, "a/b/SKILL.md")
    (tmp_path / ".gitignore").write_text("b\n", encoding="utf-8")
    (tmp_path / "a/.gitignore").write_text("!b\n", encoding="utf-8")
    assert relative(tmp_path, scan_skills(str(tmp_path))) == ["a/b/SKILL.md"]


def test_ignore_files_above_the_scan_do_not_count(tmp_path: Path) -> None:
    make(tmp_path, "s/a/SKILL.md")
    (tmp_path / ".gitignore").write_text("s\n", encoding="utf-8")
    assert len(scan_skills(str(tmp_path / "s"))) == 1


def test_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    make(tmp_path, "real/SKILL.md", "scan/x.md")
    (tmp_path / "scan/linked").symlink_to("../real")
    (tmp_path / "scan/loop").symlink_to("..")
    found = relative(tmp_path, scan_skills(str(tmp_path / "scan")))
    assert found == ["scan/linked/SKILL.md", "scan/loop/real/SKILL.md", "scan/x.md"]


def test_files_are_found_by_suffix_below_only_when_asked(tmp_path: Path) -> None:
    folder = make(tmp_path, "a.md", "b.MD", "c.txt", "d/e.md", ".f.md")
    assert relative(tmp_path, scan_files(folder, ".md")) == ["a.md"]
    assert relative(tmp_path, scan_files(folder, ".md", recursive=True)) == ["a.md", "d/e.md"]
    assert scan_files(str(tmp_path / "nowhere"), ".md") == []


def test_extensions_are_modules_and_folders_with_an_entry(tmp_path: Path) -> None:
    folder = make(
        tmp_path, "a.py", "_b.py", ".c.py", "d/__init__.py", "d/x.py", "e/x.py", "_f/__init__.py", "__pycache__/g.py"
    )
    make(tmp_path, "h.ts", "i/index.js", "j/index.ts", "j/__init__.py")
    found = scan_extensions(folder)
    assert relative(tmp_path, found.files) == ["a.py", "d/__init__.py", "j/__init__.py"]
    assert relative(tmp_path, found.foreign) == ["h.ts", "i/index.js"]


def test_a_folder_that_is_an_extension_counts_as_one(tmp_path: Path) -> None:
    folder = make(tmp_path, "__init__.py", "a.py", "d/__init__.py")
    assert relative(tmp_path, scan_extensions(folder).files) == ["__init__.py"]


def test_a_manifest_names_the_entries_of_its_folder(tmp_path: Path) -> None:
    make(tmp_path, "x/one.py", "x/__init__.py", "y/two.py", "y/pkg/__init__.py", "z/__init__.py", "w/a.ts")
    (tmp_path / "x/package.json").write_text('{"pi": {"extensions": ["./one.py", "gone.py"]}}', encoding="utf-8")
    (tmp_path / "y/pi.toml").write_text('extensions = ["two.py", "pkg"]', encoding="utf-8")
    (tmp_path / "z/package.json").write_text('{"pi": {"extensions": ["gone.py"]}}', encoding="utf-8")
    (tmp_path / "w/package.json").write_text('{"pi": {"extensions": ["a.ts"]}}', encoding="utf-8")
    found = scan_extensions(str(tmp_path))
    assert relative(tmp_path, found.files) == ["x/one.py", "y/two.py", "y/pkg", "z/__init__.py"]
    assert relative(tmp_path, found.foreign) == ["w/a.ts"]


def test_a_broken_manifest_is_told_and_the_entry_still_counts(tmp_path: Path) -> None:
    make(tmp_path, "x/__init__.py", "x/package.json")
    (tmp_path / "x/package.json").write_text("{", encoding="utf-8")
    found = scan_extensions(str(tmp_path))
    assert relative(tmp_path, found.files) == ["x/__init__.py"]
    assert "package.json cannot be used" in found.problems[0]
