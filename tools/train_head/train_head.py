#!/usr/bin/env python3
"""Trains an EAGLE-3 head for a model that foretoken serves: prompts in, a checkpoint folder in SpecForge's layout out.

Steps, each resumable, all files in the folder --work:
  invent     prompts that the model makes up itself, where you have few
  answers    the model's own answers to the prompts, asked of a server
  taps       one run of the model over its answers: what a head reads and what it shall guess
  train      trains the head for --minutes, and says the accept length on held-out answers
  export     writes the checkpoint to --out
  validate   accept length of greedy chains of 4 through the server, and with --speed its speed against plain decoding
  all        answers, taps, train, export, and validate where --validate names prompts

usage: train_head.py all --target MODEL --prompts FILE --work DIR --out DIR --foretoken PROGRAM
"""
import argparse
import os
import subprocess
import sys
from pathlib import Path

from recipe.answers import Limits, collect
from recipe.faults import Fault
from recipe.invented import invent
from recipe.prompts import read_prompts
from recipe.server import Server, serve

STEPS = ("answers", "taps", "train", "export")


def with_server(args, work):
    """Lets `work` use the server of --url, or one that is started."""
    if args.url:
        return work(Server(args.url))
    flags = ["--speculative-algorithm", "none", "--max-running-requests", str(args.at_once), *args.server_flags.split()]
    with serve(args.foretoken, str(args.target), args.work / "server.log", flags) as server:
        return work(server)


def step_invent(args):
    path = args.work / "invented.jsonl"
    with_server(args, lambda server: invent(server, args.count, path, args.at_once))
    print(f"{path}: give it as --prompts", flush=True)


def step_answers(args):
    if not args.prompts:
        raise Fault("the step answers needs --prompts FILE (several may be given)")
    prompts = [prompt for path in args.prompts for prompt in read_prompts(path)]
    limits = Limits(args.max_new_tokens, args.max_prompt_tokens, args.at_once, args.answer_minutes)
    total = with_server(args, lambda server: collect(server, prompts, args.work / "answers.jsonl", limits))
    print(f"{total} answer tokens", flush=True)


def micros_of(args):
    from recipe.taps import plan
    return plan(args.work / "answers.jsonl", args.work / "taps", args.max_length, args.micro_tokens)


def one_thread():
    """Each worker is one thread. To be called before torch is imported."""
    os.environ["OMP_NUM_THREADS"] = "1"


def step_taps(args):
    if args.device == "cpu":
        one_thread()
    from recipe.target import Target
    from recipe.taps import write_all
    trained, held_out = micros_of(args)
    workers = args.workers if args.device == "cpu" else 1
    (args.work / "taps").mkdir(exist_ok=True)
    target = Target(args.target, args.dtype, args.device)
    target.write_base(args.work)
    write_all(target, [*held_out, *trained], workers, args.taps_gib * 2**30)


def base_and_vocabulary(args):
    from recipe.target import Base
    from recipe.vocabulary import read_or_choose
    base = Base.read(args.work, args.device, args.max_length)
    end = base.hf_config["eos_token_id"]
    always = end if isinstance(end, list) else [end] if end is not None else []
    files = args.work / "vocabulary.json", args.work / "answers.jsonl"
    return base, read_or_choose(*files, args.draft_vocab, always, base.config.vocab_size)


def step_train(args):
    one_thread()
    from recipe.training import make_head, parallel, train
    import torch
    torch.manual_seed(1)
    base, ids = base_and_vocabulary(args)
    workers = args.workers if args.device == "cpu" else 1
    rates = {"muon_rate": 0.02, "adam_rate": 0.001, "decay_from": 0.4}
    settings = parallel.Settings(args.work / "state.pt", args.minutes, workers, args.save_every, **rates)
    train(make_head(base, ids), base, micros_of(args), args.step_tokens, args.micro_tokens, settings)


def step_export(args):
    from recipe.training import load_head
    from heads.export import export_eagle3
    if not args.out:
        raise Fault("the step export needs --out DIR")
    base, ids = base_and_vocabulary(args)
    head = load_head(base, ids, args.work / "state.pt").cpu()
    head.draft_ids = head.draft_ids.cpu()
    args.out.mkdir(parents=True, exist_ok=True)
    export_eagle3(head, base, None, args.out)
    size = (args.out / "model.safetensors").stat().st_size
    print(f"{args.out}: {sum(p.numel() for p in head.parameters())} parameters, {size / 1e6:.1f} MB", flush=True)


def step_validate(args):
    from recipe import validation
    if not args.out or not args.validate:
        raise Fault("the step validate needs --out DIR, the head, and --validate FILE, prompts that were not trained on")
    flags = args.server_flags.split()
    for path in args.validate:
        prompts = read_prompts(path)[:: args.every]
        tally = validation.accept_length(args.foretoken, str(args.target), args.out, prompts, args.max_new_tokens, args.at_once,
                                         args.work / "validate.log", flags)
        pairs = None
        if args.speed:
            pairs = validation.speeds(args.foretoken, str(args.target), args.out, prompts[: args.speed], args.max_new_tokens,
                                      args.work / "validate.log", flags=flags)
        validation.show(validation.report(path.name, tally, pairs), args.work / "validation.jsonl")


def step_all(args):
    """Each step is a process of its own: memory is free again behind it, and training starts without threads of torch."""
    for step in [*STEPS, *(["validate"] if args.validate else [])]:
        print(f"== {step}", flush=True)
        if code := subprocess.run([sys.executable, __file__, step, *args.words]).returncode:
            sys.exit(code)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("step", choices=("invent", *STEPS, "validate", "all"))
    p.add_argument("--target", type=Path, required=True, help="checkpoint folder of Hugging Face's, or a GGUF file")
    p.add_argument("--work", type=Path, required=True, help="folder for everything that is kept between steps")
    p.add_argument("--out", type=Path, help="folder of the head's checkpoint")
    p.add_argument("--device", default="cpu", help="of taps and training: cpu, cuda, cuda:1, ... (default cpu)")
    server = p.add_argument_group("server (invent, answers, validate)")
    server.add_argument("--foretoken", default="foretoken", help="the program that serves (default: of the PATH)")
    server.add_argument("--url", help="a server of the target that runs already, for invent and answers")
    server.add_argument("--server-flags", default="", help="more flags for the servers that are started, in one word")
    server.add_argument("--at-once", type=int, default=64, help="requests in flight (default 64)")
    server.add_argument("--max-new-tokens", type=int, default=256, help="of an answer (default 256)")
    answers = p.add_argument_group("answers")
    answers.add_argument("--prompts", type=Path, nargs="+", help="files of prompts, JSONL or one text a line")
    answers.add_argument("--count", type=int, default=2000, help="prompts that invent makes (default 2000)")
    answers.add_argument("--max-prompt-tokens", type=int, default=512, help="longer prompts are left out (default 512)")
    answers.add_argument("--answer-minutes", type=float, default=1e9, help="the step stops after this time (default: none)")
    taps = p.add_argument_group("taps")
    taps.add_argument("--dtype", choices=("bfloat16", "float32"), default="bfloat16", help="of the target (default bfloat16)")
    taps.add_argument("--taps-gib", type=float, default=40, help="size of the files at most (default 40 GiB)")
    taps.add_argument("--max-length", type=int, default=640, help="longer conversations are cut (default 640 tokens)")
    taps.add_argument("--micro-tokens", type=int, default=1024, help="tokens of a micro-batch (default 1024)")
    taps.add_argument("--workers", type=int, default=os.cpu_count(), help="processes of taps and training on a CPU (default: one per core)")
    train = p.add_argument_group("train")
    train.add_argument("--minutes", type=float, default=60, help="of the whole training, earlier runs included (default 60)")
    train.add_argument("--draft-vocab", type=int, default=8192, help="tokens that the head can guess (default 8192)")
    train.add_argument("--step-tokens", type=int, default=4096, help="tokens between two updates (default 4096)")
    train.add_argument("--save-every", type=float, default=5, help="minutes between states and figures (default 5)")
    validate = p.add_argument_group("validate")
    validate.add_argument("--validate", type=Path, nargs="+", help="files of prompts that were not trained on")
    validate.add_argument("--every", type=int, default=1, help="take every n-th of them (default 1: all)")
    validate.add_argument("--speed", type=int, default=0, help="number of prompts that measure speed (default 0)")
    return p


def main(words):
    args = parser().parse_args(words)
    args.words = [word for i, word in enumerate(words) if i != words.index(args.step)]
    args.work.mkdir(parents=True, exist_ok=True)
    try:
        globals()[f"step_{args.step}"](args)
    except Fault as fault:
        sys.exit(f"train_head: {fault}")
    except KeyboardInterrupt:
        sys.exit("train_head: ended by hand; the same command goes on")


if __name__ == "__main__":
    main(sys.argv[1:])
