// SPDX-License-Identifier: MIT
#include "stored_model.hpp"

template class tq::BasicStoredModel<>;
