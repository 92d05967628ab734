"""A bidirectional lattice LSTM as research code has it: a loop over arcs, some torch operations for each.

The arithmetic is that of `training.lattice_rnn` (LSTM, merging by the mean, one hidden layer, the logit of the
posterior added). Twice: `PublishedLatticeRNN` has the structure of published lattice RNNs, a cell written out in
torch operations; `TunedLatticeRNN` is what a loop over arcs can be brought to: torch's own cell, which is one
operation, and nothing merged where only one arc enters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

State = tuple[Tensor, Tensor]
Ends = Sequence[int]


class WrittenOutCell(nn.Module):
    """An LSTM cell in torch operations."""

    def __init__(self, inputs: int, state: int) -> None:
        super().__init__()
        self.weight_ih = nn.Parameter(torch.randn(4 * state, inputs) * 0.1)
        self.weight_hh = nn.Parameter(torch.randn(4 * state, state) * 0.1)
        self.bias_ih = nn.Parameter(torch.zeros(4 * state))

    def forward(self, x: Tensor, before: State) -> State:
        """One step."""
        bias = self.bias_ih.unsqueeze(0).expand(len(x), -1)
        gates = torch.addmm(bias, before[0], self.weight_hh.t()) + torch.mm(x, self.weight_ih.t())
        i, f, g, o = torch.split(gates, gates.shape[1] // 4, dim=1)
        c = torch.sigmoid(f) * before[1] + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class PublishedLatticeRNN(nn.Module):
    """From the inputs of the arcs of one utterance to their logits."""

    cell: type[nn.Module] = WrittenOutCell

    def __init__(self, inputs: int, state: int, hidden: int) -> None:
        super().__init__()
        self.forwards, self.backwards = self.cell(inputs, state), self.cell(inputs, state)
        self.hidden, self.output = nn.Linear(2 * state, hidden), nn.Linear(hidden, 1)
        self.state = state

    def forward(self, x: Tensor, source: Ends, target: Ends, nodes: int, logit: Tensor) -> Tensor:
        """[arcs] logits; `x` is [arcs, inputs], and arcs lead from smaller to larger nodes."""
        ahead = self._direction(self.forwards, x, source, target, range(nodes))
        behind = self._direction(self.backwards, x, target, source, range(nodes - 1, -1, -1))
        hidden = torch.relu(self.hidden(torch.cat([ahead, behind], 1)))
        return self.output(hidden)[:, 0] + logit  # type: ignore[no-any-return]

    def _direction(self, cell: nn.Module, x: Tensor, source: Ends, target: Ends, nodes: Iterable[int]) -> Tensor:
        """[arcs, state]"""
        entering: dict[int, list[int]] = {}
        leaving: dict[int, list[int]] = {}
        for arc, (start, end) in enumerate(zip(source, target, strict=True)):
            entering.setdefault(end, []).append(arc)
            leaving.setdefault(start, []).append(arc)
        found: dict[int, State] = {}
        for node in nodes:
            before = self._merged([found[arc] for arc in entering.get(node, [])], x)
            for arc in leaving.get(node, []):
                found[arc] = cell(x[arc].view(1, -1), before)
        return torch.cat([found[arc][0] for arc in range(len(source))])

    def _merged(self, states: list[State], x: Tensor) -> State:
        if not states:
            return x.new_zeros(1, self.state), x.new_zeros(1, self.state)
        return torch.stack([h for h, _ in states]).mean(0), torch.stack([c for _, c in states]).mean(0)


class TunedLatticeRNN(PublishedLatticeRNN):
    """The same with fewer operations."""

    cell = nn.LSTMCell

    def _merged(self, states: list[State], x: Tensor) -> State:
        return states[0] if len(states) == 1 else super()._merged(states, x)
