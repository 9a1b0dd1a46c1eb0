#include <tq/core/shape.hpp>
#include <vector>
