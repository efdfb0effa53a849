"""Steps of Lion by its paper (Chen et al., arXiv:2302.06675, algorithm 2), in float64: goldens/lion.json.

    python scripts/golden_lion.py

The gradient is that of sum(k_i * w_i^2) / 2 + sum(b_i * w_i), so that it changes with the values and its sign changes on the way.
Nothing but Python: independent of unigrad and of any framework.
"""

import json
import os

START = [1.0, -2.0, 0.5, 0.03125, -0.75]
K = [1.0, 2.0, 3.0, 0.5, 4.0]
B = [0.25, -0.5, 0.0, 1.0, -2.0]
STEPS = 40


def sign(x):
    return (x > 0) - (x < 0)


def run(lr, beta1, beta2, weight_decay):
    theta, m, lines = list(START), [0.0] * len(START), []
    for _ in range(STEPS):
        for i in range(len(theta)):
            g = K[i] * theta[i] + B[i]
            c = beta1 * m[i] + (1 - beta1) * g  # line 4: the update's average
            theta[i] -= lr * (sign(c) + weight_decay * theta[i])  # line 5
            m[i] = beta2 * m[i] + (1 - beta2) * g  # line 6: the momentum
        lines.append({"theta": list(theta), "m": list(m)})
    return lines


def main():
    settings = [(0.02, 0.9, 0.99, 0.0), (0.02, 0.9, 0.99, 0.5), (0.05, 0.95, 0.98, 0.1)]
    runs = [{"lr": s[0], "beta1": s[1], "beta2": s[2], "weight_decay": s[3], "steps": run(*s)} for s in settings]
    path = os.path.join(os.path.dirname(__file__), "..", "goldens", "lion.json")
    with open(path, "w") as file:
        json.dump({"start": START, "k": K, "b": B, "runs": runs}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
