-- Version 0.2.0 ends at the first mount of type kv, and knows other names for what cubbyholes and users have.
UPDATE meta SET value = 2 WHERE name = 'compatible_from';
