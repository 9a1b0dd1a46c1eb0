#include <boost/any.hpp>
