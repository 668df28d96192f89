"""Text-to-text transformers: a prompt is encoded once, whatever is written or weighed after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from .causal import Ids, Step
from .padding import padded

TOKENS, ROWS = 2048, 32  # of a batch


class Seq2Seq:
    """An encoder and a decoder, which starts with a token of its own."""

    def __init__(self, net: Any, pad: int) -> None:
        self.net, self.pad, self.device = net, pad, net.device
        start = net.generation_config.decoder_start_token_id if net.generation_config else None
        self.start = next(i for i in (start, net.config.decoder_start_token_id, pad) if i is not None)

    @torch.inference_mode()
    def score(self, asked: Sequence[tuple[Ids, Sequence[Ids]]]) -> tuple[list[list[float]], int]:
        """Give the log-probability of each option after its prompt, and how many tokens were computed."""
        found = [[0.0] * len(options) for _, options in asked]
        computed = 0
        for batch in _batches([len(prompt) for prompt, _ in asked], TOKENS, ROWS):
            seen, mask = self._encoded([asked[number][0] for number in batch])
            computed += mask.numel()
            options = [(place, at) for place, number in enumerate(batch) for at in range(len(asked[number][1]))]
            wanted = [asked[batch[place]][1][at] for place, at in options]
            for part in _batches([len(ids) for ids in wanted], TOKENS, ROWS):
                places = torch.tensor([options[row][0] for row in part], device=self.device)
                logs = self._weighed(seen[places], mask[places], [wanted[row] for row in part])
                computed += sum(len(wanted[row]) for row in part)
                for row, log in zip(part, logs, strict=True):
                    place, at = options[row]
                    found[batch[place]][at] = log
        return found, computed

    def _weighed(self, seen: torch.Tensor, mask: torch.Tensor, options: Sequence[Ids]) -> list[float]:
        """Run the decoder over options, padded on the right: (rows, width, vocabulary)."""
        width = max(map(len, options))
        wanted = padded(options, width, self.pad).to(self.device)
        given = torch.cat([wanted.new_full((len(options), 1), self.start), wanted[:, :-1]], dim=1)
        logits = self.net(encoder_outputs=(seen,), attention_mask=mask, decoder_input_ids=given, use_cache=False).logits
        logs = logits.float().log_softmax(-1).gather(2, wanted[:, :, None])[:, :, 0].double()
        real = (
            torch.arange(width, device=self.device) < torch.tensor(list(map(len, options)), device=self.device)[:, None]
        )
        total: list[float] = (logs * real).sum(1).tolist()
        return total

    @torch.inference_mode()
    def generate(self, prompts: Sequence[Ids], limit: int, step: Step) -> int:
        """Write after each prompt, token by token, and give how many tokens were computed."""
        computed = 0
        for batch in _batches([len(prompt) for prompt in prompts], TOKENS, ROWS):
            seen, mask = self._encoded([prompts[number] for number in batch])
            computed += mask.numel() + self._write(list(batch), seen, mask, limit, step)
        return computed

    def _write(self, numbers: list[int], seen: torch.Tensor, mask: torch.Tensor, limit: int, step: Step) -> int:
        cache = EncoderDecoderCache(DynamicCache(config=self.net.config), DynamicCache(config=self.net.config))
        tokens = torch.full((len(numbers), 1), self.start, device=self.device)
        computed = 0
        for _ in range(limit):
            given = self.net(
                encoder_outputs=(seen,), attention_mask=mask, decoder_input_ids=tokens, past_key_values=cache,
                use_cache=True,
            )  # fmt: skip
            computed += len(numbers)
            chosen, going = step(numbers, given.logits[:, -1].float())
            if not going:
                break
            kept = torch.tensor(going, device=self.device)
            tokens, numbers = chosen[kept, None], [numbers[row] for row in going]
            if len(going) < len(chosen):
                seen, mask = seen[kept], mask[kept]
                cache.batch_select_indices(kept)
        return computed

    def _encoded(self, prompts: Sequence[Ids]) -> tuple[torch.Tensor, torch.Tensor]:
        width = max(map(len, prompts))
        tokens = padded(prompts, width, self.pad).to(self.device)
        lengths = torch.tensor(list(map(len, prompts)), device=self.device)
        mask = (torch.arange(width, device=self.device) < lengths[:, None]).long()
        seen: torch.Tensor = self.net.get_encoder()(input_ids=tokens, attention_mask=mask).last_hidden_state
        return seen, mask


def _batches(lengths: Sequence[int], tokens: int, rows: int) -> Iterator[list[int]]:
    """Put rows of like length together: the longest first, at most so many padded tokens and rows to a batch."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    while order:
        size = min(rows, max(1, tokens // max(1, lengths[order[0]])))
        yield order[:size]
        order = order[size:]
