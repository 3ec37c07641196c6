"""A draft head (EAGLE-3) for any model that is served: prompts, answers, taps, training, export, validation."""
import sys
from pathlib import Path

# The heads, losses and the training loop are those of the demo's heads.
sys.path.insert(1, str(Path(__file__).resolve().parents[2] / "demo_models"))
