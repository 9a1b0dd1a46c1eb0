// SPDX-License-Identifier: MIT
#pragma once
// The published code books.

#include <tq/config.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace tq::codebooks {

/// 4-bit NormalFloat: quantiles of the normal distribution, with an exact 0.
/// Source: Dettmers et al., "QLoRA", 2023, appendix E; bitsandbytes.
struct nf4 {
  static constexpr std::string_view name = "nf4";
  static constexpr std::array<float, 16> values{-1.0f,
                                                -0.6961928009986877f,
                                                -0.5250730514526367f,
                                                -0.39491748809814453f,
                                                -0.28444138169288635f,
                                                -0.18477343022823334f,
                                                -0.09105003625154495f,
                                                0.0f,
                                                0.07958029955625534f,
                                                0.16093020141124725f,
                                                0.24611230194568634f,
                                                0.33791524171829224f,
                                                0.44070982933044434f,
                                                0.5626170039176941f,
                                                0.7229568362236023f,
                                                1.0f};
};

/// The 4-bit float of bitsandbytes, which is not E2M1: indices 8 to 15 are the negatives, and code
/// 8 is a second 0. Source: bitsandbytes, functional.py.
struct fp4 {
  static constexpr std::string_view name = "bnb_fp4";
  static constexpr std::array<float, 16> values{
      0.0f,  0.0625f / 12,  8.0f / 12,  1.0f,  4.0f / 12,  6.0f / 12,  2.0f / 12,  3.0f / 12,
      -0.0f, -0.0625f / 12, -8.0f / 12, -1.0f, -4.0f / 12, -6.0f / 12, -2.0f / 12, -3.0f / 12};
};

/// The non-linear 4-bit table of GGUF's IQ4_NL and IQ4_XS. Source: ggml, `kvalues_iq4nl`.
struct iq4_nl {
  static constexpr std::string_view name = "iq4_nl";
  static constexpr std::array<float, 16> values{-127, -104, -83, -65, -49, -35, -22, -10,
                                                1,    13,   25,  38,  53,  69,  89,  113};
};

/// The signed dynamic 8-bit map of bitsandbytes, which quantizes optimizer states and NF4's own
/// scales: 2^i means of neighbours in linspace(0.1, 1, 2^i + 1), times 10^(i - 6), for i = 0..6 and
/// both signs, with 0 and 1. The table holds what bitsandbytes computes in float32, whose last
/// digits depend on its order of operations. Source: Dettmers, "8-bit Approximations for
/// Parallelism in Deep Learning", 2015; bitsandbytes.
struct dynamic8 {
  static constexpr std::string_view name = "dynamic8";
  static constexpr std::array<float, 127> magnitudes{
      5.5000004e-07f, 3.2500002e-06f, 7.75e-06f,      2.1249998e-05f, 4.375e-05f,     6.625e-05f,
      8.875e-05f,     0.00015625001f, 0.00026875004f, 0.00038125002f, 0.00049375003f, 0.0006062501f,
      0.00071875006f, 0.00083125f,    0.0009437501f,  0.0012812499f,  0.00184375f,    0.00240625f,
      0.00296875f,    0.0035312497f,  0.00409375f,    0.0046562497f,  0.0052187503f,  0.00578125f,
      0.00634375f,    0.00690625f,    0.00746875f,    0.00803125f,    0.00859375f,    0.009156249f,
      0.00971875f,    0.01140625f,    0.01421875f,    0.01703125f,    0.01984375f,    0.02265625f,
      0.02546875f,    0.028281247f,   0.03109375f,    0.033906247f,   0.036718752f,   0.03953125f,
      0.042343747f,   0.04515625f,    0.04796875f,    0.05078125f,    0.05359375f,    0.05640625f,
      0.059218753f,   0.062031247f,   0.06484375f,    0.067656256f,   0.070468746f,   0.07328125f,
      0.07609375f,    0.07890625f,    0.08171874f,    0.08453125f,    0.08734375f,    0.09015625f,
      0.092968754f,   0.095781244f,   0.09859375f,    0.107031256f,   0.12109375f,    0.13515624f,
      0.14921875f,    0.16328125f,    0.17734374f,    0.19140625f,    0.20546874f,    0.21953125f,
      0.23359376f,    0.24765626f,    0.26171875f,    0.27578127f,    0.28984374f,    0.30390626f,
      0.31796873f,    0.33203125f,    0.3460937f,     0.36015624f,    0.37421876f,    0.38828123f,
      0.40234375f,    0.4164062f,     0.43046874f,    0.44453126f,    0.45859373f,    0.47265625f,
      0.48671877f,    0.50078124f,    0.51484376f,    0.5289062f,     0.54296875f,    0.5570313f,
      0.5710938f,     0.58515626f,    0.5992187f,     0.61328125f,    0.6273438f,     0.64140624f,
      0.65546876f,    0.6695313f,     0.68359375f,    0.6976563f,     0.7117188f,     0.72578126f,
      0.7398438f,     0.75390625f,    0.7679688f,     0.78203124f,    0.7960937f,     0.8101562f,
      0.82421875f,    0.8382812f,     0.85234374f,    0.8664062f,     0.8804687f,     0.89453125f,
      0.9085938f,     0.92265624f,    0.9367187f,     0.9507812f,     0.96484375f,    0.9789062f,
      0.99296874f};
  static constexpr std::array<float, 256> values = [] {
    std::array<float, 256> v{};
    for (std::size_t i = 0; i < magnitudes.size(); ++i) {
      v[128 + i] = magnitudes[i];
      v[126 - i] = -magnitudes[i];
    }
    v[255] = 1.0f;
    return v;
  }();
};

/// Signs: {-1, +1}, and zero counts as positive. Source: Rastegari et al., "XNOR-Net", 2016.
struct binary {
  static constexpr std::string_view name = "binary";
  static constexpr std::array<float, 2> values{-1.0f, 1.0f};
  static constexpr std::array<float, 1> thresholds{-0x1p-149f};
};

}  // namespace tq::codebooks
