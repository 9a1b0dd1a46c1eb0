#pragma once
#include <tq/linear/good.hpp>
