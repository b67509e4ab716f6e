"""Each callback stops a real, small training run; a wrong metric is named at once; a missing framework is named."""

import importlib
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier

from bayesfloor import BayesfloorWarning, DataError, ParameterError, callbacks, problems
from bayesfloor.stopping import callbacks as callbacks_module
from bayesfloor.stopping.callbacks import _check_metric
from bayesfloor.stopping.rule import FloorStopping

N_VAL, MANY = 4_000, 60
FRAMEWORKS = {
    "lightning_callback": "lightning",
    "keras_callback": "keras",
    "xgboost_callback": "xgboost",
    "lightgbm_callback": "lightgbm",
}


@pytest.fixture(scope="module")
def sample():
    """Two Gaussians in ten dimensions, floor 0.1587: training rows, then validation rows."""
    problem = problems.get("gaussians_10d", shift=2)
    (X, y), (X_val, y_val) = problem.sample(3_000, random_state=0), problem.sample(N_VAL, random_state=1)
    return X.astype(np.float32), y, X_val.astype(np.float32), y_val


def rule(min_delta: float = 0.02) -> FloorStopping:
    return FloorStopping(0.159, (0.154, 0.164), min_delta=min_delta)


def assert_stopped_early(stopping: FloorStopping, rounds: int) -> None:
    assert stopping.status == "at the floor", str(stopping)
    assert len(stopping.history) == rounds < MANY
    assert stopping.history[-1].n_samples == N_VAL


def torch_parts(sample):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(10, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    data = torch.utils.data.TensorDataset
    X, y, X_val, y_val = (torch.as_tensor(part) for part in sample)
    train = torch.utils.data.DataLoader(data(X, y), batch_size=256)
    return torch, model, train, torch.utils.data.DataLoader(data(X_val, y_val), batch_size=1_000)


def test_pytorch_loop_stops(sample) -> None:
    torch, model, train, val = torch_parts(sample)
    optimiser, stopping = torch.optim.Adam(model.parameters(), lr=0.01), rule()
    rounds = 0
    while rounds < MANY:
        for inputs, labels in train:
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimiser.step()
        rounds += 1
        if stopping.update(*callbacks.validation_error(model, val)):
            break
    assert_stopped_early(stopping, rounds)
    assert model.training  # back in the mode it was in
    with torch.no_grad():
        wrong = model(torch.as_tensor(sample[2])).argmax(dim=1).numpy() != sample[3]
    assert stopping.history[-1].error == wrong.mean()


def test_validation_error_of_a_single_logit() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    X = torch.tensor([[-1.0], [2.0], [3.0], [-4.0]])
    model = torch.nn.Identity().eval()
    assert callbacks.validation_error(model, [(X, torch.tensor([0, 1, 0, 0]))]) == (0.25, 4)
    assert callbacks.validation_error(model, [(X, torch.tensor([[0], [1], [0], [0]]))]) == (0.25, 4)
    assert not model.training
    with pytest.raises(DataError, match="empty"):
        callbacks.validation_error(model, [])
    with pytest.raises(DataError, match="4 rows came with 3 labels"):
        callbacks.validation_error(model, [(X, torch.tensor([0, 1, 0]))])


def test_validation_error_leaves_frozen_parts_frozen() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    model = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.BatchNorm1d(2), torch.nn.Dropout())
    model[1].eval()
    callbacks.validation_error(model, [(torch.ones(3, 1), torch.tensor([0, 1, 0]))])
    assert [part.training for part in (model, *model)] == [True, True, False, True]


@pytest.mark.parametrize(("labels", "seen"), [([-1, 1, 1], "-1 to 1"), ([1, 2, 2], "1 to 2"), ([0, -100, 1], "-100")])
def test_validation_error_refuses_labels_that_no_output_means(labels, seen) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(DataError, match=f"labels must be 0 to 1 for this model, got {seen}"):
        callbacks.validation_error(torch.nn.Identity(), [(torch.tensor([[-1.0], [2], [3]]), torch.tensor(labels))])


def test_probabilities_are_not_silently_taken_as_logits() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    loader = [(torch.tensor([[-1.0], [2.0], [-3.0]]), torch.tensor([0, 1, 0]))]
    with pytest.warns(BayesfloorWarning, match="if they are probabilities, pass threshold=0.5"):
        assert callbacks.validation_error(torch.nn.Sigmoid(), loader) == (2 / 3, 3)
    assert callbacks.validation_error(torch.nn.Sigmoid(), loader, threshold=0.5) == (0.0, 3)


@pytest.mark.parametrize("batch", [(1, 2, 3), {"inputs": 1, "labels": 2}])
def test_validation_error_names_the_batches_it_takes(batch) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(DataError, match=r"must be \(inputs, labels\)"):
        callbacks.validation_error(torch.nn.Identity(), [batch])


def lightning_run(sample, callback, log_as="val_error", steps=None, scale=1.0, validate=False):
    torch, net, train, val = torch_parts(sample)
    L = pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = net

        def training_step(self, batch, number):
            if steps is not None:
                steps.append(number)
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def validation_step(self, batch, _):
            error = (self.net(batch[0]).argmax(dim=1) != batch[1]).float().mean()
            self.log(log_as, scale * error, batch_size=len(batch[1]))

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.01)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Lightning, about worker processes
        trainer = L.Trainer(
            max_epochs=MANY,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            accelerator="cpu",
            callbacks=[callback],
        )
        module = Module()
        trainer.fit(module, train, val)
        if validate:
            trainer.validate(module, val, verbose=False)
    return trainer


def test_lightning_stops(sample) -> None:
    pytest.importorskip("lightning", reason="Lightning is not installed")
    stopping = rule()
    callback = callbacks.lightning_callback(stopping, N_VAL)
    trainer = lightning_run(sample, callback)
    assert_stopped_early(stopping, trainer.current_epoch)
    again = rule()
    callbacks.lightning_callback(again, N_VAL).load_state_dict(callback.state_dict())
    assert again.history == stopping.history


def test_lightning_counts_only_the_rounds_of_a_fit(sample) -> None:
    pytest.importorskip("lightning", reason="Lightning is not installed")
    stopping = rule()
    trainer = lightning_run(sample, callbacks.lightning_callback(stopping, N_VAL), validate=True)
    assert len(stopping.history) == trainer.current_epoch


def test_lightning_refuses_a_percentage_before_training(sample) -> None:
    pytest.importorskip("lightning", reason="Lightning is not installed")
    steps = []
    with pytest.raises(ParameterError, match="metric 'val_error' must be a share, not a percentage"):
        lightning_run(sample, callbacks.lightning_callback(rule(), N_VAL), steps=steps, scale=100.0)
    assert steps == []


def test_lightning_names_the_metrics_before_training(sample) -> None:
    pytest.importorskip("lightning", reason="Lightning is not installed")
    steps = []
    with pytest.raises(ParameterError, match="no metric 'val_error'; there is my_error"):
        lightning_run(sample, callbacks.lightning_callback(rule(), N_VAL), log_as="my_error", steps=steps)
    assert steps == []


def keras_fit(sample, callback, epochs=MANY, **options):
    import keras

    X, y, X_val, y_val = sample
    start = [keras.initializers.GlorotUniform(seed=seed) for seed in (0, 1)]
    hidden = keras.layers.Dense(8, activation="relu", kernel_initializer=start[0])
    model = keras.Sequential([hidden, keras.layers.Dense(2, kernel_initializer=start[1])])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    return model.fit(
        X,
        y,
        batch_size=256,
        epochs=epochs,
        validation_data=(X_val, y_val),
        verbose=0,
        shuffle=False,
        callbacks=[callback],
        **options,
    )


@pytest.fixture
def keras_on_torch(monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    return pytest.importorskip("keras", reason="Keras is not installed")


def test_keras_stops(sample, keras_on_torch) -> None:
    assert keras_on_torch.backend.backend() == "torch"
    stopping = rule()
    fitted = keras_fit(sample, callbacks.keras_callback(stopping, N_VAL))
    assert_stopped_early(stopping, len(fitted.history["loss"]))
    assert stopping.history[-1].error == pytest.approx(1 - fitted.history["val_accuracy"][-1], abs=1e-6)


def test_keras_names_the_metrics(sample, keras_on_torch) -> None:
    with pytest.raises(ParameterError, match=r"no metric 'val_acc'; there is accuracy, loss, val_accuracy, val_loss"):
        keras_fit(sample, callbacks.keras_callback(rule(), N_VAL, metric="val_acc"), epochs=1)


@pytest.mark.parametrize(("freq", "looks"), [(2, 2), ([1, 3, 4], 3)])
def test_keras_looks_where_there_is_a_validation(sample, keras_on_torch, freq, looks) -> None:
    stopping = FloorStopping(0.01, (0.005, 0.015))
    callback = callbacks.keras_callback(stopping, N_VAL, validation_freq=freq)
    keras_fit(sample, callback, epochs=4, validation_freq=freq)
    assert len(stopping.history) == looks
    with pytest.raises(ParameterError, match=r"this epoch had no validation.* validation_freq"):
        keras_fit(sample, callbacks.keras_callback(rule(), N_VAL), epochs=4, validation_freq=2)


def test_keras_is_not_fed_the_training_rows() -> None:
    with pytest.raises(ParameterError, match="'accuracy' is that of the training rows: 'val_accuracy'"):
        callbacks.keras_callback(rule(), N_VAL, metric="accuracy")
    with pytest.raises(ParameterError, match="validation_freq"):
        callbacks.keras_callback(rule(), N_VAL, validation_freq=0)


def xgboost_train(sample, evals, **callback_options):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    X, y, X_val, y_val = sample
    sets = {"train": xgboost.DMatrix(X, y), "val": xgboost.DMatrix(X_val, y_val)}
    stopping, log = rule(0.03), {}
    xgboost.train(
        {"objective": "binary:logistic", "eval_metric": ["logloss", "error"], "max_depth": 2, "nthread": 1, "seed": 0},
        sets["train"],
        num_boost_round=MANY,
        evals=[(sets[name], name) for name in evals],
        evals_result=log,
        verbose_eval=False,
        callbacks=[callbacks.xgboost_callback(stopping, N_VAL, **callback_options)],
    )
    return stopping, log


def test_xgboost_stops(sample) -> None:
    stopping, log = xgboost_train(sample, ["train", "val"], data="val")
    assert_stopped_early(stopping, len(log["val"]["error"]))
    assert [look.error for look in stopping.history] == pytest.approx(log["val"]["error"])


def test_xgboost_names_the_metrics(sample) -> None:
    with pytest.raises(ParameterError, match="no metric 'merror'; there is 'logloss' of 'val', 'error' of 'val'"):
        xgboost_train(sample, ["val"], metric="merror")
    with pytest.raises(ParameterError, match="several sets have the metric 'error'"):
        xgboost_train(sample, ["train", "val"])
    with pytest.raises(ParameterError, match="'train', has the name of training rows"):
        xgboost_train(sample, ["train"])
    with pytest.raises(ParameterError, match="no metric 'error' of 'test'"):
        xgboost_train(sample, ["val"], data="test")
    with pytest.raises(ParameterError, match="none at all: pass a validation set"):
        xgboost_train(sample, [])


def test_xgboost_cross_validation_stops(sample) -> None:
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    stopping = rule(0.05)
    table = xgboost.cv(
        {"objective": "binary:logistic", "eval_metric": "error", "max_depth": 2, "nthread": 1},
        xgboost.DMatrix(sample[0], sample[1]),
        MANY,
        nfold=3,
        as_pandas=False,
        callbacks=[callbacks.xgboost_callback(stopping, len(sample[1]), data="test")],
    )
    assert stopping.status == "at the floor"
    assert len(table["test-error-mean"]) == len(stopping.history) < MANY


def lightgbm_train(sample, **callback_options):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    X, y, X_val, y_val = sample
    train = lightgbm.Dataset(X, y)
    sets, stopping = [train, train.create_valid(X_val, y_val)], rule(0.03)
    model = lightgbm.train(
        {"objective": "binary", "metric": ["binary_error"], "num_leaves": 4, "num_threads": 1, "verbose": -1},
        train,
        num_boost_round=MANY,
        valid_sets=sets,
        valid_names=["training", "val"],
        callbacks=[callbacks.lightgbm_callback(stopping, N_VAL, **callback_options)],
    )
    return stopping, model


def test_lightgbm_stops(sample) -> None:
    stopping, model = lightgbm_train(sample)
    assert_stopped_early(stopping, model.current_iteration())
    assert model.best_iteration == len(stopping.history)
    wrong = (model.predict(sample[2]) > 0.5) != sample[3]
    assert stopping.history[-1].error == pytest.approx(wrong.mean())


def test_lightgbm_names_the_metrics(sample) -> None:
    with pytest.raises(ParameterError, match="no metric 'multi_error'; there is 'binary_error' of 'val'"):
        lightgbm_train(sample, metric="multi_error")


@pytest.mark.parametrize(
    ("model", "trees"),
    [
        (SGDClassifier(loss="log_loss", average=True, random_state=0), None),
        (GradientBoostingClassifier(max_depth=2, random_state=0), "n_estimators_"),
        (HistGradientBoostingClassifier(max_leaf_nodes=4, early_stopping=False, random_state=0), "n_iter_"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_scikit_learn_stops(sample, model, trees) -> None:
    stopping = rule(0.03)
    assert callbacks.fit_until_floor(model, *sample, stopping, max_rounds=MANY) is model
    assert_stopped_early(stopping, len(stopping.history))
    assert stopping.history[-1].error == pytest.approx(1 - model.score(sample[2], sample[3]))
    if trees is not None:
        assert getattr(model, trees) == 10 * len(stopping.history)


def test_scikit_learn_ends_after_the_rounds_allowed(sample) -> None:
    stopping = FloorStopping(0.01, (0.005, 0.015))
    callbacks.fit_until_floor(SGDClassifier(random_state=0), *sample, stopping, max_rounds=4)
    assert len(stopping.history) == 4
    assert not stopping.stopped


class NeverTrained(SGDClassifier):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        raise AssertionError("trained before the validation rows were looked at")


def test_scikit_learn_refusals(sample) -> None:
    X, y, X_val, y_val = sample
    with pytest.raises(DataError, match="y_val has no label of y"):
        callbacks.fit_until_floor(NeverTrained(), X, y.astype(str), X_val, y_val, rule())
    with pytest.raises(DataError, match="X_val has 10 rows and y_val 4000"):
        callbacks.fit_until_floor(NeverTrained(), X, y, X_val[:10], y_val, rule())
    with pytest.raises(ParameterError, match="LogisticRegression cannot be trained in rounds"):
        callbacks.fit_until_floor(LogisticRegression(), X, y, X_val, y_val, rule())
    with pytest.raises(DataError, match="no validation rows"):
        callbacks.fit_until_floor(SGDClassifier(), X, y, X_val[:0], y_val[:0], rule())
    with pytest.raises(DataError, match="X_val has 10 rows and y_val 4000"):
        callbacks.fit_until_floor(SGDClassifier(), X, y, X_val[:10], y_val, rule())
    with pytest.raises(ParameterError, match="max_rounds"):
        callbacks.fit_until_floor(SGDClassifier(), X, y, X_val, y_val, rule(), max_rounds=0)
    with pytest.raises(ParameterError, match="must be a FloorStopping"):
        callbacks.fit_until_floor(SGDClassifier(), X, y, X_val, y_val, 0.1)


def used_rule() -> FloorStopping:
    stopping = rule()
    while not stopping.update(0.159, N_VAL):
        pass
    return stopping


@pytest.mark.parametrize("factory", FRAMEWORKS)
def test_a_rule_that_has_stopped_is_refused(sample, factory) -> None:
    """It would end the next training after a single round."""
    with pytest.raises(ParameterError, match=r"has stopped a training already \(at the floor, after 12 rounds"):
        getattr(callbacks, factory)(used_rule(), N_VAL)
    with pytest.raises(ParameterError, match="make a new one"):
        callbacks.fit_until_floor(NeverTrained(), *sample, used_rule())


def test_a_callback_serves_one_training(sample, keras_on_torch) -> None:
    """A loop over folds must not train the later ones for one round each."""
    pytest.importorskip("lightning", reason="Lightning is not installed")
    for factory, fit in ((callbacks.keras_callback, keras_fit), (callbacks.lightning_callback, lightning_run)):
        stopping, used = rule(), used_rule()
        callback = factory(stopping, N_VAL)
        stopping.load_state_dict(used.state_dict())
        with pytest.raises(ParameterError, match="make a new one"):
            fit(sample, callback)
        assert stopping.history == used.history


def test_a_boosting_callback_serves_one_training(sample) -> None:
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    X, y, used = sample[0][:200], sample[1][:200], used_rule().state_dict()
    stopping = rule()
    by_xgboost = callbacks.xgboost_callback(stopping, N_VAL)
    by_lightgbm = callbacks.lightgbm_callback(stopping, N_VAL)
    stopping.load_state_dict(used)
    d, D = xgboost.DMatrix(X, y), lightgbm.Dataset(X, y)
    with pytest.raises(ParameterError, match="make a new one"):
        xgboost.train({"nthread": 1}, d, 5, evals=[(d, "val")], verbose_eval=False, callbacks=[by_xgboost])
    with pytest.raises(ParameterError, match="make a new one"):
        lightgbm.train({"verbose": -1, "num_threads": 1}, D, 5, callbacks=[by_lightgbm])


@pytest.mark.parametrize(
    "metric", ["val_mean_squared_error", "val_mean_absolute_error", "val_top_k_accuracy", "train_acc", "balanced_acc"]
)
def test_names_that_only_look_like_an_error_are_refused(metric) -> None:
    with pytest.raises(ParameterError, match="does not look like an error or an accuracy on validation rows"):
        _check_metric(rule(), 100, metric, None)
    assert _check_metric(rule(), 100, metric, "error")[1] == 100
    assert _check_metric(rule(), 100, "val_constraint_error", None)[1] == 100


@pytest.mark.parametrize("factory", FRAMEWORKS)
@pytest.mark.parametrize(
    ("n_samples", "options", "message"),
    [
        (0, {}, "n_samples must be a whole number"),
        (100, {"metric": "val_loss"}, "'val_loss' does not look like an error or an accuracy"),
        (100, {"metric": ""}, "name of a metric"),
        (100, {"metric": "mine", "metric_is": "auc"}, "metric_is must be"),
    ],
)
def test_bad_options_are_refused_at_construction(factory, n_samples, options, message) -> None:
    """Also where the framework is missing: options are checked first."""
    with pytest.raises(ParameterError, match=message):
        getattr(callbacks, factory)(rule(), n_samples, **options)
    with pytest.raises(ParameterError, match="must be a FloorStopping"):
        getattr(callbacks, factory)(0.1, 100)


@pytest.mark.parametrize(
    ("metric", "metric_is", "value", "error"),
    [("acc", None, 0.9, 0.1), ("err", None, 0.9, 0.9), ("mine", "accuracy", np.float32(1 + 1e-7), 0.0)],
)
def test_metrics_become_errors(metric, metric_is, value, error) -> None:
    convert, rows = _check_metric(rule(), 100, metric, metric_is)
    assert (convert(value), rows) == (error, 100)
    with pytest.raises(ParameterError, match=f"metric '{metric}' must be a share, not a percentage: 85.7 % is 0.857"):
        convert(85.7)


@pytest.mark.parametrize("factory", FRAMEWORKS)
def test_a_missing_framework_is_named(factory, monkeypatch) -> None:
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

    monkeypatch.setattr(callbacks_module, "import_module", missing)
    with pytest.raises(ImportError, match=f"pip install {FRAMEWORKS[factory]}"):
        getattr(callbacks, factory)(rule(), 100)
    with pytest.raises(ImportError, match="needs torch: pip install torch"):
        callbacks.validation_error(None, [])


def test_what_a_framework_lacks_is_not_mistaken_for_it(monkeypatch) -> None:
    def broken(name):
        raise ModuleNotFoundError("No module named 'its_own_need'", name="its_own_need")

    monkeypatch.setattr(callbacks_module, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="its_own_need"):
        callbacks.xgboost_callback(rule(), 100)


def test_importing_callbacks_imports_no_framework() -> None:
    names = {"torch", "lightning", "pytorch_lightning", "keras", "xgboost", "lightgbm", "sklearn"}
    code = f"import sys, bayesfloor.stopping.callbacks; print(*{names} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
    assert importlib.import_module("bayesfloor.stopping.callbacks").__all__ == sorted(callbacks.__all__)
