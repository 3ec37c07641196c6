"""Trains on a CPU within a wall-clock budget, with single-threaded workers that share the parameters.

The micro-batches of a step are handed out one by one, so that a worker whose core is taken by another program does
less instead of holding up the rest. Matrices are trained with Muon, embeddings, output matrices and norms with AdamW;
each worker updates the parameters that it owns. Progress is elapsed time over budget: learning rate, and whatever else
a task lets follow it, end in time whatever the speed of the machine. The same command line resumes from the state.
"""
import os
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.multiprocessing as mp

WARM_UP = 0.02


@dataclass
class Settings:
    state: Path
    minutes: float
    workers: int = 4
    save_every: float = 5  # minutes
    own_sessions: bool = False
    muon_rate: float = 0.012
    adam_rate: float = 0.0025
    decay_from: float = 0.45  # progress at which the learning rate begins to fall


def add_arguments(parser):
    parser.add_argument("--state", type=Path, required=True, help="checkpoint file, outside the repository")
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--own-sessions", action="store_true",
                        help="one session per worker: Linux shares a busy machine equally between sessions, not processes")
    parser.add_argument("--save-every", type=float, default=5, help="minutes between checkpoints")


def settings_from(args, **rates) -> Settings:
    return Settings(args.state, args.minutes, args.workers, args.save_every, args.own_sessions, **rates)


class Task:
    """What a worker computes. Each worker has a copy of its own, made after the fork."""

    micros = 8  # micro-batches per step

    def loss(self, step: int, micro: int, progress: float):
        """Loss of one micro-batch of a step, a scalar that can be differentiated."""
        raise NotImplementedError

    def report(self, is_final: bool) -> str:
        """Figures on held-out data."""
        raise NotImplementedError


def schedule(progress: float, decay_from: float) -> float:
    """Warm-up, a plateau, then a linear decay to nearly zero."""
    return min(1.0, progress / WARM_UP + 0.02, max(0.01, (1 - progress) / (1 - decay_from)))


def orthogonal(g):
    """Newton-Schulz iteration of Muon: the nearest (roughly) orthogonal matrix to g."""
    x = g.bfloat16()
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return (x.T if tall else x).float()


def is_muon(name: str, p) -> bool:
    return p.dim() == 2 and "embed" not in name and "lm_head" not in name


def optimizer_state(params: dict) -> dict:
    return {n: {k: torch.zeros_like(p) for k in (("m",) if is_muon(n, p) else ("m", "v"))} for n, p in params.items()}


class Optimizer:
    """Updates the parameters that one worker owns. State lives in shared tensors so that worker 0 can save it."""

    def __init__(self, params: dict, state: dict, owned: list, settings: Settings):
        self.params, self.state, self.owned, self.settings = params, state, owned, settings

    @torch.no_grad()
    def step(self, grads: dict, rate: float, count: int):
        muon_rate, adam_rate = self.settings.muon_rate * rate, self.settings.adam_rate * rate
        for name in self.owned:
            p, g, s = self.params[name], grads[name], self.state[name]
            if "v" not in s:
                s["m"].lerp_(g, 0.05)
                update = orthogonal(g.lerp(s["m"], 0.95)) * max(1, p.shape[0] / p.shape[1]) ** 0.5
                p.mul_(1 - muon_rate * 0.1).add_(update, alpha=-muon_rate)
            else:
                s["m"].lerp_(g, 0.1)
                s["v"].lerp_(g * g, 0.02)
                m, v = s["m"] / (1 - 0.9**count), s["v"] / (1 - 0.98**count)
                p.addcdiv_(m, v.sqrt() + 1e-8, value=-adam_rate)


def owners(params: dict, workers: int) -> list:
    """Splits the parameters over the workers, the costly ones evenly."""
    load, split = [0] * workers, [[] for _ in range(workers)]
    for name, p in sorted(params.items(), key=lambda item: -item[1].numel()):
        least = load.index(min(load))
        load[least] += p.numel()
        split[least].append(name)
    return split


class Shared:
    """What the workers share: parameters, one gradient per worker, optimizer state, the counters of the run."""

    def __init__(self, model, settings: Settings):
        workers = settings.workers
        trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
        # Moves the storage itself: the model of every worker reads these very tensors after the fork.
        self.params = {n: p.detach().share_memory_() for n, p in trained.items()}
        self.grads = [{n: torch.zeros_like(p).share_memory_() for n, p in self.params.items()} for _ in range(workers)]
        self.state = {n: {k: v.share_memory_() for k, v in s.items()} for n, s in optimizer_state(self.params).items()}
        self.barrier, self.next_micro = mp.Barrier(workers), mp.Value("q", 0)
        self.clock = torch.zeros(3, dtype=torch.float64).share_memory_()  # elapsed seconds, progress, steps
        self.loss = torch.zeros(workers).share_memory_()
        if settings.state.exists():
            self.load(torch.load(settings.state))

    def load(self, saved: dict):
        for n, p in self.params.items():
            p.copy_(saved["params"][n])
            for k, v in self.state[n].items():
                v.copy_(saved["optimizer"][n][k])
        self.clock.copy_(saved["clock"])

    def save(self, path: Path):
        part = path.with_suffix(".part")
        torch.save({"params": self.params, "optimizer": self.state, "clock": self.clock}, part)
        part.rename(path)


def take_micro(shared: Shared) -> int:
    with shared.next_micro.get_lock():
        shared.next_micro.value += 1
        return shared.next_micro.value - 1


def compute_gradients(rank: int, shared: Shared, task: Task, step: int, progress: float):
    shared.loss[rank] = 0
    while (micro := take_micro(shared)) < task.micros:
        loss = task.loss(step, micro, progress)
        (loss / task.micros).backward()
        shared.loss[rank] += loss.item() / task.micros


def update(shared: Shared, optimizer: Optimizer, rate: float, count: int):
    summed = {}
    for name in optimizer.owned:
        summed[name] = sum(g[name] for g in shared.grads)
        for g in shared.grads:
            g[name].zero_()
    optimizer.step(summed, rate, count)


class Log:
    """Worker 0's: progress lines, checkpoints."""

    def __init__(self, shared: Shared, task: Task, settings: Settings):
        self.shared, self.task, self.settings = shared, task, settings
        self.last_saved, self.mean = time.time(), None

    def after_step(self, step: int, rate: float):
        now = self.shared.loss.sum().item()
        self.mean = now if self.mean is None else 0.95 * self.mean + 0.05 * now
        elapsed, progress, _ = self.shared.clock.tolist()
        if step % 20 == 0:
            print(f"step {step} minutes {elapsed / 60:.1f} progress {progress:.3f} rate {rate:.3f} loss {self.mean:.3f}", flush=True)
        if time.time() - self.last_saved > self.settings.save_every * 60:
            self.last_saved = time.time()
            self.shared.save(self.settings.state)
            print("validation", self.task.report(is_final=False), flush=True)

    def at_end(self):
        self.shared.save(self.settings.state)
        print("final validation", self.task.report(is_final=True), flush=True)


def work(rank: int, shared: Shared, model, make_task, settings: Settings):
    if settings.own_sessions and settings.workers > 1:
        os.setsid()
    torch.set_num_threads(1)
    for name, p in model.named_parameters():
        if p.requires_grad:
            p.grad = shared.grads[rank][name]
    task = make_task(model)
    optimizer = Optimizer(shared.params, shared.state, owners(shared.params, settings.workers)[rank], settings)
    begin, before = time.time(), shared.clock[0].item()
    log = Log(shared, task, settings) if rank == 0 else None
    while True:
        if rank == 0:
            shared.clock[0] = before + time.time() - begin
            shared.clock[1] = shared.clock[0] / (settings.minutes * 60)
            shared.next_micro.value = 0
        shared.barrier.wait()
        _, progress, step = shared.clock.tolist()
        if progress >= 1:
            break
        compute_gradients(rank, shared, task, int(step), progress)
        shared.barrier.wait()
        rate = schedule(progress, settings.decay_from)
        update(shared, optimizer, rate, int(step) + 1)
        shared.barrier.wait()
        if rank == 0:
            shared.clock[2] += 1
            log.after_step(int(step), rate)
    if rank == 0:
        log.at_end()


def run(model, make_task, settings: Settings):
    """Trains the parameters of `model` that require gradients; make_task(model) -> Task is called in every worker."""
    shared = Shared(model, settings)
    if settings.workers == 1:
        return work(0, shared, model, make_task, settings)  # in this process: a GPU cannot be used after a fork
    mp.start_processes(work, (shared, model, make_task, settings), nprocs=settings.workers, start_method="fork")
