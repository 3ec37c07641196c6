#!/usr/bin/env bash
# Checks and measures the Vulkan backend on this machine's GPU in a few minutes:
#   tools/gpu_check.sh [--quick] [--device vulkan[:N|:NAME]] [--shape NAME] [--programs FOLDER]
#
# It needs the built programs, a driver of Vulkan with its loader, and python3. It prints
#   features    what the driver says of the devices
#   operations  every operation on random and poisoned inputs, byte for byte against the CPU
#   steps       operations alone and whole steps by rows 1 to 64, prompts, on made-up weights of the shape
#   drafts      tokens per second of the shape, plain and drafted at a simulated accept length
#   answers     whole answers of the demo model, plain and with drafts, byte for byte
# and ends with "gpu_check: passed" or says what failed. --quick: small shapes, few rounds, so that
# a software device does.
set -uo pipefail
cd "$(dirname "$0")/.."

device=vulkan shape=llama-3.1-8b programs=build/release quick= filter='*'
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=1 ;;
    --device | --shape | --programs)
      [ $# -gt 1 ] || { echo "gpu_check: $1 needs a value" >&2; exit 2; }
      case $1 in --device) device=$2 ;; --shape) shape=$2 ;; *) programs=$2 ;; esac
      shift ;;
    *) echo "gpu_check: unknown flag $1" >&2; exit 2 ;;
  esac
  shift
done
ops=(--rounds 5 --nodes 1 2 4 8 16 64 --context 1024)
steps=(--rounds 5 --nodes 1 2 4 8 16 32 64 --prefill 512 --context 1024)
if [ -n "$quick" ]; then
  shape=tiny filter='*norm*'
  ops=(--rounds 1 --nodes 1 4 --context 64)
  steps=(--rounds 1 --nodes 1 4 --prefill 64 --context 64)
fi

export FORETOKEN_TEST_DEVICE=$device FORETOKEN_VULKAN_ROOT=${FORETOKEN_VULKAN_ROOT-}
run() { tools/vulkan_run.sh "$@"; }
failed=()
part() {  # name, command
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@" || failed+=("$name")
  echo "-- $name took $((SECONDS - start)) s"
}

features() { run "$programs/foretoken" devices; }
operations() {
  local log
  log=$(run "$programs/src/backend/vulkan_tests" --gtest_brief=1 --gtest_filter="$filter" 2>&1)
  local code=$?
  echo "$log"
  case $log in *SKIPPED*) return 1 ;; esac
  return $code
}
answers() { python3 tests/vulkan/vulkan_test.py "$(realpath "$programs/foretoken")" "$PWD"; }
measure() {
  run "$programs/foretoken-bench" ops --device "$device" --shape "$shape" "${ops[@]}" &&
    run "$programs/foretoken-bench" --device "$device" --shape "$shape" "${steps[@]}"
}
# Folders of a model and of a head of this shape without weights: --load-format dummy makes them up.
make_folders() {
  python3 - "$1" "$quick" <<'PYTHON'
import json, pathlib, shutil, sys
folder, is_quick = pathlib.Path(sys.argv[1]), bool(sys.argv[2])
hidden, inner, layers, heads, kv_heads = (64, 128, 2, 2, 1) if is_quick else (4096, 14336, 32, 32, 8)
common = {"model_type": "llama", "hidden_size": hidden, "intermediate_size": inner, "num_attention_heads": heads,
          "num_key_value_heads": kv_heads, "head_dim": hidden // heads, "max_position_embeddings": 8192,
          "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
          "hidden_act": "silu", "vocab_size": 8192 if is_quick else 128256, "bos_token_id": 0, "eos_token_id": 1}
target, head = folder / "target", folder / "eagle3"
shutil.copytree("models/demo", target, ignore=shutil.ignore_patterns("*.safetensors", "config.json"))
target.joinpath("config.json").write_text(json.dumps(
    {"architectures": ["LlamaForCausalLM"], "num_hidden_layers": layers, **common}))
head.mkdir()
head.joinpath("config.json").write_text(json.dumps(
    {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, **common,
     "draft_vocab_size": common["vocab_size"] // 4,
     "eagle_config": {"eagle_aux_hidden_state_layer_ids": [0, 1, 1] if is_quick else [2, 16, 29],
                      "use_aux_hidden_state": True}}))
PYTHON
}
drafts() {
  local folder tokens=128 code
  [ -z "$quick" ] || tokens=12
  folder=$(mktemp -d) && make_folders "$folder" || return 1
  local eagle="--speculative-algorithm EAGLE3 --speculative-draft-model-path $folder/eagle3 --simulate-acc-len 4.68"
  run "$programs/foretoken-bench" accept --model "$folder/target" --limit 1 --repeats 1 --draft-budget full \
    --max-new-tokens "$tokens" --ignore-eos --flags "--load-format dummy --random-seed 1 --device $device --max-total-tokens 8192" \
    --method "tree=$eagle --speculative-num-steps 5 --speculative-eagle-topk 8 --speculative-num-draft-tokens 32" \
    --method "chain=$eagle --speculative-num-steps 7 --speculative-eagle-topk 1 --speculative-num-draft-tokens 8"
  code=$?
  rm -rf "$folder"
  return $code
}

part features features
part operations operations
part steps measure
part drafts drafts
[ -n "$quick" ] || part answers answers

if [ ${#failed[@]} -gt 0 ]; then
  echo "gpu_check: failed: ${failed[*]}"
  exit 1
fi
echo "gpu_check: passed"
