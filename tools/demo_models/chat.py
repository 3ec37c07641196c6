"""Asks a checkpoint questions with Hugging Face transformers, greedily, and prints the answers.

usage: chat.py --model DIR [--questions FILE] [question ...]
A line of FILE is one conversation; ' || ' separates the user's turns.
"""
import argparse
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


class Chat:
    def __init__(self, folder: str, max_new_tokens: int = 200):
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
        self.max_new_tokens = max_new_tokens

    def answer(self, messages) -> str:
        prompt = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        inputs = self.tokenizer(prompt, add_special_tokens=False, return_tensors="pt")
        output = self.model.generate(**inputs, do_sample=False, max_new_tokens=self.max_new_tokens)
        new = output[0, inputs["input_ids"].shape[1] :]
        ended = new[-1].item() == self.tokenizer.eos_token_id
        return self.tokenizer.decode(new, skip_special_tokens=True) + ("" if ended else " [cut]")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("question", nargs="*")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    chat = Chat(args.model)
    for line in args.question + (args.questions.read_text().splitlines() if args.questions else []):
        messages = []
        for turn in line.split(" || "):
            messages.append({"role": "user", "content": turn})
            messages.append({"role": "assistant", "content": chat.answer(messages)})
            print(f"user: {turn}\nassistant: {messages[-1]['content']}")
        print(flush=True)


if __name__ == "__main__":
    main()
