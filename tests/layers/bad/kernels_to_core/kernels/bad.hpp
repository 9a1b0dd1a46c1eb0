#include <vector>
#include <tq/core/shape.hpp>
