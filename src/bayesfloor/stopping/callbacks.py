"""The stopping rule inside training frameworks. No framework is imported before its callback is asked for."""

import warnings
from collections.abc import Callable, Collection
from typing import Any

from ..errors import BayesfloorWarning, DataError, ParameterError
from ..floor.excess import check_rows
from ..utils.checks import listed
from .callback_checks import check_unused, checked_metric, framework, metric_of_set, named_metric
from .rounds import fit_until_floor
from .rule import FloorStopping

__all__ = [
    "fit_until_floor",
    "keras_callback",
    "lightgbm_callback",
    "lightning_callback",
    "validation_error",
    "xgboost_callback",
]


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
    torch = framework("torch")
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
    convert, rows = checked_metric(stopping, n_samples, metric, metric_is)
    try:
        lightning = framework("lightning.pytorch")
    except ImportError:
        lightning = framework("pytorch_lightning", "lightning")

    class FloorCallback(lightning.Callback):  # type: ignore[name-defined]
        """Stops the trainer when the rule does."""

        def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
            if stage == "fit":  # before a checkpoint is loaded, which may well be that of a training that has stopped
                check_unused(stopping)

        def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
            if trainer.state.fn.value != "fit":
                return  # trainer.validate() is no round of training
            error = convert(named_metric(trainer.callback_metrics, metric))
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
        Name with its "val_": without, Keras means the training rows.
    validation_freq : int or collection of int
        As given to ``fit``: the rule looks after the epochs that have a validation.
    """
    convert, rows = checked_metric(stopping, n_samples, metric, metric_is)
    if metric_is is None and not metric.startswith("val_"):
        raise ParameterError(f"metric {metric!r} is that of the training rows: 'val_{metric}' has the validation rows")
    if not isinstance(validation_freq, Collection):
        check_rows("validation_freq", validation_freq)
    keras = framework("keras")

    class FloorCallback(keras.callbacks.Callback):  # type: ignore[name-defined]
        """Stops the model's fit when the rule does."""

        def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
            check_unused(stopping)

        def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
            number = epoch + 1
            if number not in validation_freq if isinstance(validation_freq, Collection) else number % validation_freq:
                return
            if logs and not any(name.startswith("val_") for name in logs) and metric not in logs:
                raise ParameterError(
                    f"there is no metric {metric!r}, since this epoch had no validation: pass validation_data to fit, "
                    "and its validation_freq to this callback, too; there is " + listed(sorted(logs), 10)
                )
            if stopping.update(convert(named_metric(logs or {}, metric)), rows):
                self.model.stop_training = True

    return FloorCallback()


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
    convert, rows = checked_metric(stopping, n_samples, metric, metric_is)
    xgboost = framework("xgboost", "xgboost-cpu (or xgboost)")

    class FloorCallback(xgboost.callback.TrainingCallback):  # type: ignore[name-defined]
        """Ends boosting when the rule stops."""

        def before_training(self, model: Any) -> Any:
            check_unused(stopping)
            return model

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            values = {(d, m): series[-1] for d, metrics in evals_log.items() for m, series in metrics.items()}
            value = metric_of_set(values, data, metric)
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
    convert, rows = checked_metric(stopping, n_samples, metric, metric_is)
    lightgbm = framework("lightgbm")

    def look(env: Any) -> None:
        if env.iteration == env.begin_iteration:
            check_unused(stopping)
        results = [entry for entry in env.evaluation_result_list or () if entry[0] != "training" or data == "training"]
        value = metric_of_set({(entry[0], entry[1]): entry[2] for entry in results}, data, metric)
        if stopping.update(convert(value), rows):
            raise lightgbm.callback.EarlyStopException(env.iteration, env.evaluation_result_list)

    look.order = 30  # type: ignore[attr-defined]  # after LightGBM's own, which record this round
    return look
