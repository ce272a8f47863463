"""whyperf for programs that ask in the user's place: tools and resources over the Model Context Protocol."""
