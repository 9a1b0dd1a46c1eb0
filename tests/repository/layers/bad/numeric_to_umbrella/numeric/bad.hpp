#include <tq/tq.hpp>
