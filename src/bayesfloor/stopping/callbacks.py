"""The stopping rule inside training frameworks. No framework is imported before its callback is asked for."""

import re
import warnings
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import BayesfloorWarning, DataError, ParameterError
from ..floor.excess import check_rows, check_share
from ..utils.checks import brief, listed
from .rule import FloorStopping

__all__ = [
    "fit_until_floor",
    "keras_callback",
    "lightgbm_callback",
    "lightning_callback",
    "validation_error",
    "xgboost_callback",
]

# Their names hold "err" or "acc", and yet they are no share of wrong or right answers on validation rows.
_NOT_COMPARABLE = re.compile(r"(^|[^a-z])d?train|squared|absolute|top[_-]?[k\d]|balanced")
_TRAINING_SET = re.compile(r"(^|[^a-z])d?train", re.IGNORECASE)


# --- scikit-learn ----------------------------------------------------------------------------------------------------


def fit_until_floor(
    model: Any,
    X: Any,
    y: Any,
    X_val: Any,
    y_val: Any,
    stopping: FloorStopping,
    *,
    max_rounds: int = 200,
    step: int = 10,
) -> Any:
    """Train a scikit-learn classifier round by round until the rule stops it.

    A round is one `partial_fit` on all rows where the model has it, and otherwise `step` more trees or iterations with
    `warm_start` (forests, gradient boosting).

    Parameters
    ----------
    model : scikit-learn classifier
        Trained in place; one that grows counts its trees from `step` on.
    X, y : array-like
        Training rows.
    X_val, y_val : array-like
        Validation rows, which training never sees.
    stopping : FloorStopping
        A new one for each training. Afterwards it has the history and the reason; its `stopped` is False if
        `max_rounds` came first.
    max_rounds : int
    step : int

    Returns
    -------
    model

    Examples
    --------
    >>> from bayesfloor import problems
    >>> from sklearn.naive_bayes import GaussianNB
    >>> problem = problems.get("gaussians_10d", shift=2)   # floor 0.1587
    >>> stopping = FloorStopping(0.159, (0.15, 0.168), min_delta=0.03)
    >>> rows, new_rows = problem.sample(2000, random_state=0), problem.sample(2000, random_state=1)
    >>> model = fit_until_floor(GaussianNB(), *rows, *new_rows, stopping)
    >>> stopping.status, len(stopping.history)
    ('at the floor', 12)
    """
    check_rows("max_rounds", max_rounds)
    check_rows("step", step)
    truth = np.asarray(y_val).reshape(-1)
    if len(truth) == 0:
        raise DataError("there are no validation rows: X_val and y_val are empty")
    n_val = X_val.shape[0] if hasattr(X_val, "shape") else len(X_val)
    if n_val != len(truth):
        raise DataError(f"X_val has {n_val} rows and y_val {len(truth)}: they must match")
    seen, asked = set(np.asarray(y).reshape(-1).tolist()), set(truth.tolist())
    if seen.isdisjoint(asked):
        raise DataError(f"y_val has no label of y ({next(iter(asked))!r} is none): are they of the same kind?")
    _check_unused(stopping)
    train = _one_round(model, X, y, step)
    for _ in range(max_rounds):
        train()
        guess = np.asarray(model.predict(X_val)).reshape(-1)
        if stopping.update(float((guess != truth).mean()), len(truth)):
            break
    return model


def _one_round(model: Any, X: Any, y: Any, step: int) -> Callable[[], object]:
    if hasattr(model, "partial_fit"):
        classes = np.unique(np.asarray(y))
        return lambda: model.partial_fit(X, y, classes=classes)
    options = model.get_params() if hasattr(model, "get_params") else {}
    # Histogram boosting counts its trees in max_iter; elsewhere max_iter counts steps of a solver, which start anew.
    size = "max_iter" if type(model).__name__.startswith("HistGradientBoosting") else "n_estimators"
    if "warm_start" not in options or size not in options:
        raise ParameterError(
            f"{type(model).__name__} cannot be trained in rounds: it has neither partial_fit nor trees to add with "
            "warm_start"
        )
    trees = 0

    def grow() -> None:
        nonlocal trees
        trees += step
        model.set_params(warm_start=True, **{size: trees}).fit(X, y)

    return grow


# --- PyTorch, Lightning, Keras ---------------------------------------------------------------------------------------


def validation_error(model: Any, loader: Any, *, threshold: float = 0.0) -> tuple[float, int]:
    """Error of a PyTorch model on the rows of a loader, and their number: what `FloorStopping.update` takes.

    The model is put into evaluation mode, and each of its parts back into the mode it was in. Several outputs per row
    are scores of the classes; a single one is a score of the second class.

    Parameters
    ----------
    model : torch.nn.Module
    loader : iterable of (inputs, labels)
        Labels are 0, 1, ...: numbers of the classes.
    threshold : float
        Above it a single output means the second class: 0 for logits, 0.5 for probabilities.

    Returns
    -------
    error : float
    n_samples : int
    """
    torch = _framework("torch")
    parameter = next(model.parameters(), None)
    modes = [(part, part.training) for part in model.modules()]  # frozen parts may be in evaluation mode
    wrong, n, single = 0, 0, []
    model.eval()
    try:
        with torch.no_grad():
            for batch in loader:
                inputs, labels = _pair(batch)
                if parameter is not None:
                    inputs, labels = inputs.to(parameter.device), labels.to(parameter.device)
                outputs = model(inputs).reshape(len(inputs), -1)
                n_classes, labels = max(2, outputs.shape[1]), labels.reshape(-1)
                guess = outputs.argmax(dim=1)
                if outputs.shape[1] == 1:
                    guess = (outputs[:, 0] > threshold).long()
                    single += [float(outputs.min()), float(outputs.max())]
                if len(labels) != len(guess):
                    raise DataError(f"{len(guess)} rows came with {len(labels)} labels: one each is needed")
                low, high = float(labels.min()), float(labels.max())
                if low < 0 or high >= n_classes:
                    raise DataError(f"labels must be 0 to {n_classes - 1} for this model, got {low:g} to {high:g}")
                wrong += int((guess != labels).sum())
                n += len(guess)
    finally:
        for part, mode in modes:
            part.training = mode
    if n == 0:
        raise DataError("the validation loader is empty")
    if threshold == 0 and single and min(single) >= 0 and max(single) <= 1:
        warnings.warn(
            "all outputs of the model lie between 0 and 1 and are taken as logits: if they are probabilities, pass "
            "threshold=0.5",
            BayesfloorWarning,
            stacklevel=2,
        )
    return wrong / n, n


def _pair(batch: Any) -> tuple[Any, Any]:
    if isinstance(batch, list | tuple) and len(batch) == 2:
        return batch[0], batch[1]
    raise DataError(f"each batch of the loader must be (inputs, labels), got {type(batch).__name__}")


def lightning_callback(
    stopping: FloorStopping, n_samples: int, *, metric: str = "val_error", metric_is: str | None = None
) -> Any:
    """Callback for a Lightning trainer: ``Trainer(callbacks=[lightning_callback(stopping, len(val_set))])``.

    It looks after each validation of a fit, at what the module logged as `metric`; that it is logged, and is a share,
    is checked in the sanity run, before any training. Its state is kept in checkpoints.

    Parameters
    ----------
    stopping : FloorStopping
        A new one for each training.
    n_samples : int
        Number of validation rows.
    metric : str
        Name of an error or an accuracy, as a share, over the whole validation set.
    metric_is : {"error", "accuracy"}, optional
        What the metric is, where its name does not say so.
    """
    convert, rows = _check_metric(stopping, n_samples, metric, metric_is)
    try:
        lightning = _framework("lightning.pytorch")
    except ImportError:
        lightning = _framework("pytorch_lightning", "lightning")

    class FloorCallback(lightning.Callback):  # type: ignore[name-defined]
        """Stops the trainer when the rule does."""

        def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
            if stage == "fit":  # before a checkpoint is loaded, which may well be that of a training that has stopped
                _check_unused(stopping)

        def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
            if trainer.state.fn.value != "fit":
                return  # trainer.validate() is no round of training
            error = convert(_named_metric(trainer.callback_metrics, metric))
            if not trainer.sanity_checking:
                # One process that goes on alone would wait for the others for ever.
                stop = trainer.strategy.reduce_boolean_decision(stopping.update(error, rows), all=False)
                trainer.should_stop = stop or trainer.should_stop

        def state_dict(self) -> dict[str, Any]:
            return stopping.state_dict()

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            stopping.load_state_dict(state_dict)

    return FloorCallback()


def keras_callback(
    stopping: FloorStopping,
    n_samples: int,
    *,
    metric: str = "val_accuracy",
    metric_is: str | None = None,
    validation_freq: int | Collection[int] = 1,
) -> Any:
    """Callback for Keras 3: ``model.fit(..., validation_data=..., callbacks=[keras_callback(stopping, n)])``.

    Parameters
    ----------
    stopping, n_samples, metric_is
        As in `lightning_callback`.
    metric : str
        Name with its ``val_``: without, Keras means the training rows.
    validation_freq : int or collection of int
        As given to ``fit``: the rule looks after the epochs that have a validation.
    """
    convert, rows = _check_metric(stopping, n_samples, metric, metric_is)
    if metric_is is None and not metric.startswith("val_"):
        raise ParameterError(f"metric {metric!r} is that of the training rows: 'val_{metric}' has the validation rows")
    if not isinstance(validation_freq, Collection):
        check_rows("validation_freq", validation_freq)
    keras = _framework("keras")

    class FloorCallback(keras.callbacks.Callback):  # type: ignore[name-defined]
        """Stops the model's fit when the rule does."""

        def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
            _check_unused(stopping)

        def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
            number = epoch + 1
            if number not in validation_freq if isinstance(validation_freq, Collection) else number % validation_freq:
                return
            if logs and not any(name.startswith("val_") for name in logs) and metric not in logs:
                raise ParameterError(
                    f"there is no metric {metric!r}, since this epoch had no validation: pass validation_data to fit, "
                    "and its validation_freq to this callback, too; there is " + listed(sorted(logs), 10)
                )
            if stopping.update(convert(_named_metric(logs or {}, metric)), rows):
                self.model.stop_training = True

    return FloorCallback()


# --- boosting --------------------------------------------------------------------------------------------------------


def xgboost_callback(
    stopping: FloorStopping,
    n_samples: int,
    *,
    metric: str = "error",
    data: str | None = None,
    metric_is: str | None = None,
) -> Any:
    """Callback for XGBoost: ``xgboost.train(..., evals=[(val, "val")], callbacks=[xgboost_callback(stopping, n)])``.

    Parameters
    ----------
    stopping, n_samples, metric_is
        As in `lightning_callback`.
    metric : str
        "error" with two classes, "merror" with more (``eval_metric`` of the booster).
    data : str, optional
        Name of the validation set in ``evals``; needed where several are given.
    """
    convert, rows = _check_metric(stopping, n_samples, metric, metric_is)
    xgboost = _framework("xgboost", "xgboost-cpu (or xgboost)")

    class FloorCallback(xgboost.callback.TrainingCallback):  # type: ignore[name-defined]
        """Ends boosting when the rule stops."""

        def before_training(self, model: Any) -> Any:
            _check_unused(stopping)
            return model

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            values = {(d, m): series[-1] for d, metrics in evals_log.items() for m, series in metrics.items()}
            value = _metric_of_set(values, data, metric)
            # Cross-validation reports (mean, standard deviation).
            stop = stopping.update(convert(value[0] if isinstance(value, tuple) else value), rows)
            if stop and hasattr(model, "cvfolds") and model.cvfolds[0].bst.attr("best_iteration") is None:
                model.set_attr(best_iteration=str(epoch))  # xgboost.cv reads it from whoever stops it
            return stop

    return FloorCallback()


def lightgbm_callback(
    stopping: FloorStopping,
    n_samples: int,
    *,
    metric: str = "binary_error",
    data: str | None = None,
    metric_is: str | None = None,
) -> Callable[[Any], None]:
    """Callback for LightGBM: ``lightgbm.train(..., valid_sets=[val], callbacks=[lightgbm_callback(stopping, n)])``.

    Parameters
    ----------
    stopping, n_samples, metric_is
        As in `lightning_callback`.
    metric : str
        "binary_error" with two classes, "multi_error" with more (parameter ``metric``).
    data : str, optional
        Name of the validation set in ``valid_names``; needed where several are given.
    """
    convert, rows = _check_metric(stopping, n_samples, metric, metric_is)
    lightgbm = _framework("lightgbm")

    def look(env: Any) -> None:
        if env.iteration == env.begin_iteration:
            _check_unused(stopping)
        results = [entry for entry in env.evaluation_result_list or () if entry[0] != "training" or data == "training"]
        value = _metric_of_set({(entry[0], entry[1]): entry[2] for entry in results}, data, metric)
        if stopping.update(convert(value), rows):
            raise lightgbm.callback.EarlyStopException(env.iteration, env.evaluation_result_list)

    look.order = 30  # type: ignore[attr-defined]  # after LightGBM's own, which record this round
    return look


# --- what every callback checks before training: the rule, the metric, the framework ---------------------------------


def _check_unused(stopping: Any) -> None:
    """Refuse a rule that would end this training after a round, since it has ended another one."""
    if not isinstance(stopping, FloorStopping):
        raise ParameterError(f"stopping must be a FloorStopping, got {type(stopping).__name__}")
    if stopping.stopped:
        raise ParameterError(
            f"this FloorStopping has stopped a training already ({stopping.status}, after {len(stopping.history)} "
            "rounds): make a new one for each training"
        )


def _check_metric(
    stopping: Any, n_samples: Any, metric: Any, metric_is: str | None
) -> tuple[Callable[[Any], float], int]:
    """How to turn the metric into an error, and the number of validation rows; refused before training."""
    _check_unused(stopping)
    rows = check_rows("n_samples", n_samples)
    if not isinstance(metric, str) or not metric:
        raise ParameterError(f"metric must be the name of a metric, got {brief(metric)}")
    if metric_is is None:
        name = metric.lower()
        is_error, is_accuracy = "err" in name, "acc" in name
        if is_error == is_accuracy or _NOT_COMPARABLE.search(name):
            raise ParameterError(
                f"metric {metric!r} does not look like an error or an accuracy on validation rows, and only those can "
                "be compared with the floor: name one of them, or say what it is by metric_is='error' or 'accuracy'"
            )
        metric_is = "error" if is_error else "accuracy"
    if metric_is not in ("error", "accuracy"):
        raise ParameterError(f"metric_is must be 'error' or 'accuracy', got {brief(metric_is)}")

    def error_from(value: Any) -> float:
        share = check_share(f"metric {metric!r}", value)
        return share if metric_is == "error" else round(1 - share, 9)  # 1 - 0.9 is not 0.1

    return error_from, rows


def _named_metric(values: Mapping[str, Any], metric: str) -> Any:
    """The metric of this name, or an error with the names that there are."""
    if metric not in values:
        names = listed(sorted(map(str, values)), 10)
        raise ParameterError(f"there is no metric {metric!r}; there is {names or 'none at all: log one in validation'}")
    return values[metric]


def _metric_of_set(values: Mapping[tuple[str, str], Any], data: str | None, metric: str) -> Any:
    """The metric of one validation set, which must be named if several have it."""
    fitting = [key for key in values if key[1] == metric and data in (None, key[0])]
    if len(fitting) == 1 and (data is not None or not _TRAINING_SET.search(fitting[0][0])):
        return values[fitting[0]]
    names = listed([f"{m!r} of {d!r}" for d, m in values], 10)
    if not fitting:
        wanted = repr(metric) if data is None else f"{metric!r} of {data!r}"
        raise ParameterError(f"there is no metric {wanted}; there is {names or 'none at all: pass a validation set'}")
    if len(fitting) == 1:
        raise ParameterError(
            f"the only set, {fitting[0][0]!r}, has the name of training rows: pass a validation set, or say "
            f"data={fitting[0][0]!r} if it is one"
        )
    raise ParameterError(f"several sets have the metric {metric!r}: say which by data=...; there is {names}")


def _framework(module: str, package: str | None = None) -> Any:
    """A framework, or an error that says how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise  # the framework is there, but something it needs is not
        package = package or module
        raise ImportError(f"this callback needs {module}: pip install {package}", name=module) from None
