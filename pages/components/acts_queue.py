"""What the buttons of the queue do: pause, go on, stop, reword, and another order."""

from collections.abc import Callable, Mapping

from core import Runner, View, script
from core.errors import NotFound
from pages.components.act import Act, Result

_STAY = Result(stay=True)


def _pause(runner: Runner, view: View, act: Act) -> Result:
    script.pause(runner, view.branch.id)
    return _STAY


def _resume(runner: Runner, view: View, act: Act) -> Result:
    run = script.resume(runner, view.branch.id)
    return _STAY if run is None else Result(branch=run.branch_id)


def _stop(runner: Runner, view: View, act: Act) -> Result:
    count = script.stop(runner, view.branch.id)
    return _STAY if count else Result(stay=True, said="Nothing waits any more.")


def _back(runner: Runner, view: View, act: Act) -> Result:
    script.put_back(runner, view.branch.id)
    return _STAY


def _to_composer(runner: Runner, view: View, act: Act) -> Result:
    return Result(stay=True, insert=script.take_stopped(runner, view.branch.id))


def _discard(runner: Runner, view: View, act: Act) -> Result:
    runner.store.queue.discard(view.branch.id)
    return _STAY


def _reword(runner: Runner, view: View, act: Act) -> Result:
    """Other words in the same place. If it went out meanwhile, they come into the composer."""
    try:
        runner.store.queue.reword(act["id"], act["text"])
    except NotFound:
        said = "That message has gone out already. Your words are in the composer."
        return Result(stay=True, insert=act["text"], said=said)
    return _STAY


def _shift(runner: Runner, view: View, act: Act) -> Result:
    runner.store.queue.shift(act["id"], int(act["by"]))
    return _STAY


ACTIONS: Mapping[str, Callable[[Runner, View, Act], Result]] = {
    "queue_pause": _pause,
    "queue_resume": _resume,
    "queue_stop": _stop,
    "queue_back": _back,
    "queue_compose": _to_composer,
    "queue_discard": _discard,
    "queue_reword": _reword,
    "queue_shift": _shift,
}
