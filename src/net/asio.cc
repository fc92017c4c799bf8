// Asio itself, compiled once for everybody.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
