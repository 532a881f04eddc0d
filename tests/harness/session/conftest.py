"""Databases for sessions."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.postgres import PostgresServer, postgres_programs


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    programs = postgres_programs()
    if programs is None:
        pytest.skip("the programs of a PostgreSQL server are not installed")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed")
    server = PostgresServer(programs)
    yield server
    server.stop()


@pytest.fixture
def postgresql_url(postgres: PostgresServer) -> str:
    return postgres.url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'sessions.db'}"
