"""Tables: handling and drawing them."""
