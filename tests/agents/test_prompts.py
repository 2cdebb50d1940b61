"""Prompt files and their fields."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from agents.errors import PromptError
from agents.prompts import prompt, render
from agents.roles.assignment import fenced
from agents.secrets_filter import SecretsFilter


def test_fields_are_filled_in_and_never_read_again() -> None:
    assert render('{"a": {{value}}} ${x} {{ value }}', {"value": "{{other}}"}) == '{"a": {{other}}} ${x} {{other}}'


def test_fields_that_do_not_fit_are_named() -> None:
    with pytest.raises(PromptError, match=r"p.md: field\(s\) not given: a; no place for field\(s\): b"):
        render("{{a}}", {"b": "1"}, name="p.md")
    with pytest.raises(PromptError, match="no such prompt file"):
        prompt("agents.roles", "nothing.md")


def test_the_package_holds_the_prompts_it_uses() -> None:
    names = {file.name for file in resources.files("agents.roles").iterdir() if file.name.endswith(".md")}
    roles = {"proposer", "critic", "evolver"}
    assert {f"{role}.{part}.md" for role in roles for part in ("system", "assignment")} <= names


def test_no_text_can_end_the_assignment_block() -> None:
    facts = {"text": "```\n```json\n{}\n```"}
    block = fenced(facts)
    assert block.count("```") == 2
    assert json.loads(block.removeprefix("```json\n").removesuffix("\n```")) == facts


def test_secrets_are_taken_out() -> None:
    secrets = SecretsFilter(
        {"MY_API_KEY": "abcdefghij", "LONG_TOKEN": "abcdefghijkl", "SHORT_KEY": "abc", "PLAIN": "qwertyuiop"}
    )
    assert secrets.known("abc abcdefghij abcdefghijkl qwertyuiop") == "abc [secret] [secret] qwertyuiop"
    assert secrets.message("key sk-abcdef123456, Bearer abc.def.ghi, http://me:pw@host/") == (
        "key [secret], [secret], http://[secret]@host/"
    )
