// SPDX-License-Identifier: MIT
#pragma once
// quantizer_grid: a quantizer as data, for programs that score ranges themselves.

#include <tq/calibrate/detail/quantizer_grid.hpp>

namespace tq {

/// The parameters that a range becomes: code k stands for (k - zero_point) * scale + offset.
using CodeMap = detail::Levels;

/// The values of a format in ascending order, and the thresholds between them.
using LevelTable = detail::LevelTable;

/// A quantizer at scale 1 and offset 0, without a type: its codes or levels, its roundings, and
/// `fit`, which makes a `CodeMap` of a range.
using QuantizerGrid = detail::QuantizerGrid;

/// `quantizer_grid<Params, N>()`: the grid of the quantizer of `Params` under numerics N.
using detail::quantizer_grid;

}  // namespace tq
