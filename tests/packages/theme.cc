// SPDX-License-Identifier: GPL-2.0-only
//
// theme.cc - "theme USER THEME": print the session that login (boot.t) has made, and put another theme
// into it, as a program in C++ does with the installed libhashbelt.
#include <hashbelt/client.h>

#include <array>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

class belt {
public:
	explicit belt(const char *name)
	{
		struct hashbelt *opened = nullptr;

		check(hashbelt_open(nullptr, &opened), HASHBELT_CALL_OPEN, nullptr);
		handle.reset(opened);
		check(hashbelt_bind(opened, name), HASHBELT_CALL_BIND, name);
	}

	std::string get(std::string_view key) const
	{
		struct hashbelt_item item = {};
		std::array<char, 256> value;

		check(hashbelt_get(handle.get(), key.data(), key.size(), value.data(), value.size(), &item),
		      HASHBELT_CALL_GET, nullptr);
		return { value.data(), item.value_len };
	}

	// The entry gets the time-to-live of the belt.
	void put(std::string_view key, std::string_view value) const
	{
		struct hashbelt_item item = {};

		check(hashbelt_put(handle.get(), key.data(), key.size(), value.data(), value.size(), &item),
		      HASHBELT_CALL_PUT, nullptr);
	}

private:
	void check(int err, enum hashbelt_call call, const char *name) const
	{
		std::array<char, HASHBELT_ERROR_SIZE> text;

		if (err)
			throw std::runtime_error(hashbelt_strerror(handle.get(), err, call, name,
								   text.data(), text.size()));
	}

	std::unique_ptr<struct hashbelt, decltype(&hashbelt_close)> handle{ nullptr, hashbelt_close };
};

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::cerr << "usage: theme USER THEME\n";
		return 2;
	}
	try {
		const std::string key = std::string("session:") + argv[1];
		const belt shop("shop");

		std::cout << argv[1] << ": " << shop.get(key) << '\n';
		shop.put(key, std::string("theme=") + argv[2]);
	} catch (const std::exception &error) {
		std::cerr << "theme: " << error.what() << '\n';
		return 1;
	}
}
