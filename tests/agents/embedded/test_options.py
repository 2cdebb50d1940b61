"""What can be said behind the author's name."""

import pytest

from agents.embedded.conversation import ConversationError
from agents.embedded.options import Options
from agents.errors import ModelSpecError
from agents.model import check_model


def test_a_share_of_mistakes_can_be_asked_for():
    assert Options.of("embedded/author") == Options(0.0)
    assert Options.of("author?faults=0.3") == Options(0.3)
    assert Options.of("embedded/author?faults=1") == Options(1.0)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("embedded/writer", "no embedded model 'writer'"),
        ("embedded/author?faults=1.5", "from 0 to 1"),
        ("embedded/author?faults=", "from 0 to 1"),
        ("embedded/author?faults=nan", "from 0 to 1"),
        ("embedded/author?fault=0.1", "no option 'fault'"),
    ],
)
def test_what_does_not_exist_is_named(model, told):
    with pytest.raises(ConversationError, match=told):
        Options.of(model)
    with pytest.raises(ModelSpecError, match=told):
        check_model(model)
