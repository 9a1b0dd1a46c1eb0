// SPDX-License-Identifier: MIT
#include "schemes.hpp"

#include <tq/train/ewgs.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>
#include <tq/train/log2_threshold.hpp>
#include <tq/train/pact.hpp>

std::vector<Scheme> schemes() {
  using namespace tq;
  using Lsq = LearnedStep<>;
  using Straight = StraightThrough;
  using Clipped = ClippedStraightThrough;
  return {
      {weights<int8, Clipped>, activations<uint8, Clipped>, true},
      {weights<int8, Lsq>, activations<uint8, Lsq>},
      {weights<int8, Lsq>, activations<int8, LearnedStepPlus<>>},
      {weights<int8, Log2Threshold>, activations<uint8, Log2Threshold>},

      {weights<int4, Clipped>, activations<uint8, Clipped>},
      {weights<int4, Lsq>, activations<uint8, Lsq>},

      {weights<int4, Straight>, activations<uint4, Clipped>},
      {weights<int4, Clipped>, activations<uint4, Clipped>, true},
      {weights<int4, Lsq>, activations<uint4, Lsq>, true, true},
      {weights<int4, Ewgs<Lsq>>, activations<uint4, Ewgs<Lsq>>},
      {weights<int4, Lsq>, activations<int4, LearnedStepPlus<>>},
      {weights<int4, LearnedAffine<>>, activations<int4, LearnedAffine<>>},
      {weights<int4, Log2Threshold>, activations<uint4, Log2Threshold>},
      {weights<int4, DoReFa>, activations<uint4, Pact<>>},

      {weights<int3, Clipped>, activations<uint8, Clipped>},
      {weights<int3, Lsq>, activations<uint8, Lsq>},

      {weights<int2, Straight>, activations<uint8, Clipped>},
      {weights<int2, Clipped>, activations<uint8, Clipped>},
      {weights<int2, Lsq>, activations<uint8, Lsq>},
      {weights<int2, Ewgs<Lsq>>, activations<uint8, Lsq>},
      {weights<int2, Log2Threshold>, activations<uint8, Log2Threshold>},
      {weights<int2, DoReFa>, activations<uint8, Clipped>},

      {weights<int2, Clipped>, activations<uint4, Clipped>, true},
      {weights<int2, Lsq>, activations<uint4, Lsq>, true},
      {weights<int2, Ewgs<Lsq>>, activations<uint4, Ewgs<Lsq>>},
      {weights<int2, Lsq>, activations<int4, LearnedStepPlus<>>},
      {weights<int2, Clipped>, activations<uint4, Pact<>>},
      {weights<int2, DoReFa>, activations<uint4, Pact<>>},

      {weights<ternary, Straight>, activations<uint8, Clipped>},
      {weights<ternary, Lsq>, activations<uint8, Lsq>},

      {weights<binary, Straight>, activations<uint8, Clipped>, true},
      {weights<binary, Lsq>, activations<uint8, Lsq>},
      {weights<binary, Ewgs<Lsq>>, activations<uint8, Lsq>},
  };
}
