"""attnc.torch.replace(): the results are those of PyTorch. Needs torch."""

import copy
import gc
import random
import unittest

import numpy as np

import attnc
from attnc import _arrays
from support import ROWS, Case, needs, words

torch = needs("torch")
import attnc.torch

nn = torch.nn

replace = attnc.torch.replace


class Adapted(nn.Linear):
    """A layer as LoRA makes it: its weights are not all of it."""


def layer(d=16, h=2, **more):
    more = {"dim_feedforward": 32, "batch_first": True, **more}
    return nn.TransformerEncoderLayer(d, h, **more)


def some_encoder(r):
    """Returns an encoder with random weights, also of its norms."""
    h = r.choice([1, 2, 3, 4])
    d = h * r.choice([4, 5, 8])
    one = layer(
        d, h, dim_feedforward=r.choice([7, 32]),
        activation=r.choice(["relu", "gelu", nn.GELU("tanh"), nn.SiLU()]),
        layer_norm_eps=r.choice([1e-5, 1e-12, 1e-3]), bias=r.random() < 0.7,
        batch_first=r.random() < 0.5, norm_first=r.random() < 0.5)
    norm = r.choice([None, nn.LayerNorm(d),
                     nn.LayerNorm(d, elementwise_affine=False)])
    encoder = nn.TransformerEncoder(one, r.choice([1, 2]), norm,
                                    enable_nested_tensor=False).eval()
    with torch.no_grad():
        for p in encoder.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return encoder


def some_masks(r, n, rows):
    """Returns arguments of forward(), and where rows are no padding."""
    given, keep = {}, torch.ones(n, rows, dtype=torch.bool)
    if r.random() < 0.5:
        keep = torch.arange(rows) < torch.randint(1, rows + 1, (n, 1))
        given["src_key_padding_mask"] = ~keep if r.random() < 0.5 else (
            torch.zeros(n, rows).masked_fill(~keep, -torch.inf))
    if r.random() < 0.5:
        mask = nn.Transformer.generate_square_subsequent_mask(rows)
        given["mask"] = mask if r.random() < 0.5 else mask < 0
        given["is_causal"] = r.choice([None, True])
    return given, keep


class Tensors(Case):
    """Tensors that a model takes and gives."""

    def test_taken(self):
        m = words()
        ids = torch.tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.int32)
        rows = m.encode_ids(ids.numpy())
        for same in (ids, ids.long(), list(ids), ids.T.contiguous().T):
            np.testing.assert_array_equal(m.encode_ids(same), rows)
        self.assertEqual(_arrays.ids_of(ids[0]).ctypes.data, ids.data_ptr())
        x = torch.randn(3, 4)
        for lent in (x, memoryview(x.numpy()), np.from_dlpack(x)):
            self.assertEqual(_arrays.rows_of(lent, 4).ctypes.data,
                             x.data_ptr())
        for bad in (x.requires_grad_(), x.detach().to("meta"),
                    x.detach().to_sparse(), x.detach().bfloat16()):
            with self.assertRaises((TypeError, RuntimeError)):
                _arrays.rows_of(bad, 4)

    def test_given(self):
        rows = words().encode(["abc", "d"], convert_to_tensor=True)
        self.assertEqual((type(rows), rows.dtype),
                         (torch.Tensor, torch.float32))
        np.testing.assert_array_equal(rows, words().encode(["abc", "d"]))
        self.assertEqual(words().encode("a", convert_to_tensor=True).shape,
                         (16,))
        with attnc.load(spec=ROWS, seed=3, threads=1) as m:
            found = m.encode(["abc", "d"], convert_to_tensor=True)
        self.assertEqual([tuple(x.shape) for x in found], [(4, 16), (2, 16)])
        torch.testing.assert_close(
            torch.from_numpy(words().similarity(rows, rows)),
            nn.functional.cosine_similarity(rows[:, None], rows, dim=2))


class Replaced(Case):
    @classmethod
    def setUpClass(cls):
        # PyTorch's fast path computes GELU("tanh") as GELU().
        torch.backends.mha.set_fastpath_enabled(False)
        torch.manual_seed(1)

    def setUp(self):
        no_grad = torch.no_grad()
        no_grad.__enter__()
        self.addCleanup(no_grad.__exit__, None, None, None)

    def test_encoders(self):
        r = random.Random(1)
        for _ in range(12):
            encoder = some_encoder(r)
            fast = replace(encoder, threads=r.choice([1, 2]))
            first = encoder.layers[0].self_attn.batch_first
            n, rows = r.randint(1, 40), r.randint(1, 30)
            x = torch.randn(n, rows, encoder.layers[0].self_attn.embed_dim)
            given, keep = some_masks(r, n, rows)
            x = x if first else x.transpose(0, 1)
            y, z = encoder(x, **given), fast(x, **given)
            self.assertEqual(y.shape, z.shape)
            y, z = (a if first else a.transpose(0, 1) for a in (y, z))
            torch.testing.assert_close(z[keep], y[keep], atol=1e-5, rtol=1e-5)
            self.assertFalse(z[~keep].any())

    def test_layer(self):
        one = layer().eval()
        fast = replace(one, threads=1)
        x = torch.randn(5, 16)
        mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
        for given in ({}, {"src_mask": mask, "is_causal": True},
                      {"src_mask": torch.zeros(5, 5)}):
            torch.testing.assert_close(fast(x, **given), one(x, **given),
                                       atol=1e-5, rtol=1e-5)
        keep = torch.tensor([False, True, True, False, True])
        torch.testing.assert_close(
            fast(x, src_key_padding_mask=~keep)[keep],
            one(x, src_key_padding_mask=~keep)[keep], atol=1e-5, rtol=1e-5)
        self.assertEqual(fast(x[:0]).shape, (0, 16))
        self.assertEqual(fast(torch.zeros(0, 3, 16)).shape, (0, 3, 16))
        hidden = torch.tensor([[True] * 5, [False] * 5])
        both = fast(torch.stack([x, x]), src_key_padding_mask=hidden)
        self.assertFalse(both[0].any())
        torch.testing.assert_close(both[1], fast(x), atol=0.0, rtol=0.0)

    def test_layers_differ(self):
        encoder = nn.TransformerEncoder(layer(), 2).eval()
        encoder.layers[1] = layer(h=4, dim_feedforward=8, norm_first=True,
                                  activation="gelu", layer_norm_eps=1e-3)
        encoder.eval()
        x = torch.randn(3, 5, 16)
        torch.testing.assert_close(replace(encoder, threads=1)(x), encoder(x),
                                   atol=1e-5, rtol=1e-5)

    def test_attention(self):
        r = random.Random(2)
        for _ in range(6):
            first = r.random() < 0.5
            one = nn.MultiheadAttention(24, 3, bias=r.random() < 0.5,
                                        batch_first=first).eval()
            fast = replace(one, threads=1)
            keys = r.choice([5, 9])
            q, k, v = (torch.randn(3, n, 24) for n in (5, keys, keys))
            if not first:
                q, k, v = (x.transpose(0, 1) for x in (q, k, v))
            masks = [{}, {"key_padding_mask": torch.arange(keys) >=
                          torch.tensor([[1], [3], [keys]])}]
            if keys == 5:
                masks.append({"attn_mask": torch.ones(
                    5, 5, dtype=torch.bool).triu(1)})
            for given in masks:
                given["need_weights"] = False
                y, weights = fast(q, k, v, **given)
                self.assertIsNone(weights)
                torch.testing.assert_close(y, one(q, k, v, **given)[0],
                                           atol=1e-5, rtol=1e-5)
            with self.raises(ValueError, "need_weights=False"):
                fast(q, k, v)
            with self.raises(ValueError, "a causal mask or padding"):
                fast(q, q, q, torch.zeros(3, 5, dtype=torch.bool),
                     need_weights=False,
                     attn_mask=torch.ones(5, 5, dtype=torch.bool).triu(1))
            with self.raises(ValueError, "is_causal needs a mask"):
                fast(q, q, q, need_weights=False, is_causal=True)
            hidden = torch.tensor([[True] * keys] + 2 * [[False] * keys])
            y = fast(q, k, v, hidden, need_weights=False)[0]
            y, z = (a if first else a.transpose(0, 1)
                    for a in (y, fast(q, k, v, need_weights=False)[0]))
            self.assertFalse(y[0].any())
            torch.testing.assert_close(y[1:], z[1:], atol=0.0, rtol=0.0)
            one, two = (x.narrow(0 if first else 1, 0, n)
                        for x, n in ((k, 1), (v, 2)))
            for bad in ((q, one, one), (q, k, two), (q, k[0], v[0]),
                        (q[..., :8], k, v), (q[0, 0], k, v), (two, k, v)):
                with self.raises(ValueError, "the same batch size"):
                    fast(*bad, need_weights=False)

    def test_inside(self):
        """A replaced module is a part of another one."""
        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.TransformerEncoder(layer(), 1)
                self.out = nn.Linear(16, 3)

            def forward(self, x):
                return self.out(self.encoder(x))

        m, x = Tagger().eval(), torch.randn(2, 4, 16)
        y = m(x)
        m.encoder = replace(m.encoder, dtype="bf16", threads=1)
        torch.testing.assert_close(m(x), y, atol=0.1, rtol=0.1)
        self.assertEqual(len(list(m.parameters())), 2)

    def test_gradients(self):
        fast, x = replace(layer().eval(), threads=1), torch.randn(2, 3, 16)
        with torch.enable_grad():
            self.assertEqual(fast(x).shape, x.shape)
            x.requires_grad_()
            with self.raises(RuntimeError, "under torch.no_grad(), or give "
                                           "src.detach()"):
                fast(x)
            fast(x.detach())
        self.assertFalse(fast(x).requires_grad)

    def test_wrong_inputs(self):
        fast, x = replace(layer().eval(), threads=1), torch.randn(2, 3, 16)
        for bad in (x.double(), x.bfloat16(), x.to("meta"), x.to_sparse(),
                    torch.nested.nested_tensor([x[0], x[1]])):
            with self.raises(TypeError, "src must be a dense tensor of float"):
                fast(bad)
        for bad in (x[..., :8], x[0, 0], x[None]):
            with self.raises(ValueError, "src must have 2 or 3 dimensions"):
                fast(bad)
        with self.raises(ValueError, "may only have the numbers 0 and -inf"):
            fast(x, torch.full((3, 3), 0.5))
        for bad in (torch.eye(3) < 1, torch.ones(4, 4).triu(1) > 0,
                    torch.ones(4, 3, 3).triu(1) > 0):
            with self.raises(ValueError, "is not a causal one of [3, 3]"):
                fast(x, bad)
        with self.raises(ValueError, "is_causal needs a mask"):
            fast(x, is_causal=True)
        with self.raises(ValueError, "must have the shape [2, 3], not [3, 2]"):
            fast(x, src_key_padding_mask=torch.zeros(3, 2))

    def test_wrong_modules(self):
        for bad, kind, says in (
                (layer(), ValueError, "call module.eval() first"),
                (layer().double().eval(), TypeError, "module.float().cpu()"),
                (nn.Linear(2, 2), TypeError, "linear.Linear"),
                (None, TypeError, "not NoneType"),
                (nn.MultiheadAttention(8, 2, dropout=0.1), ValueError,
                 "call module.eval() first"),
                (layer(activation=torch.tanh).eval(), ValueError,
                 "relu, gelu and silu"),
                (nn.MultiheadAttention(8, 2, kdim=4), ValueError, "kdim"),
                (nn.TransformerEncoder(layer(), 0).eval(), ValueError,
                 "has no layers"),
                (nn.TransformerEncoder(layer(), 1, nn.RMSNorm(16)).eval(),
                 ValueError, "encoder.norm must be nn.LayerNorm(16)")):
            with self.raises(kind, says):
                replace(bad)
        with self.raises(attnc.UsageError, "did you mean --threads?"):
            replace(layer().eval(), thread=1)
        one = layer().eval()
        one.norm2.eps = 0.5
        with self.raises(ValueError, "eps of norm1 and norm2 differ"):
            replace(one)
        for change in (lambda m: setattr(m, "linear1", Adapted(16, 32)),
                       lambda m: setattr(m.self_attn, "out_proj",
                                         nn.Linear(16, 16)),
                       lambda m: torch.nn.utils.parametrizations.weight_norm(
                           m.linear2),
                       lambda m: torch.ao.quantization.quantize_dynamic(
                           m, {nn.Linear}, inplace=True)):
            one = layer().eval()
            change(one)
            with self.raises(TypeError, "merge adapters into the weights"):
                replace(one)
        one = layer().eval()
        one.linear1.register_forward_hook(lambda *_: None)
        with self.raises(ValueError, "linear1 has hooks of forward()"):
            replace(one)
        other = type("Other", (nn.TransformerEncoderLayer,), {})(16, 2)
        wrong = nn.TransformerEncoder(other, 1).eval()
        with self.raises(TypeError, "layer 0 must be nn.TransformerEncoder"):
            replace(wrong)

    def test_life(self):
        fast = replace(layer().eval(), threads=1)
        with self.raises(TypeError, "is not pickled or copied"):
            copy.deepcopy(fast)
        folder = fast._folder
        self.assertTrue(folder.exists())
        del fast
        gc.collect()
        self.assertFalse(folder.exists())


if __name__ == "__main__":
    unittest.main()
