//! Kinds of keys that PostgreSQL can have.

/// What some of them are made of.
pub const SETUP: &str = "create schema kinds; create type kinds.mood as enum ('sad', 'OK', 'happy'); create extension if not exists citext; \
         create extension hstore; create collation kinds.ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false); \
         create collation kinds.us (provider = libc, locale = 'en_US.UTF-8'); \
         create domain kinds.text_code as varchar(40) collate \"en-x-icu\"; create domain kinds.code as kinds.text_code check (value <> '')";

/// Columns with their key, and expressions over `g`, each of whose values gives another key.
pub const KINDS: &[(&str, &str)] = &[
    (
        "a smallint, b bigint, primary key (a, b)",
        "g % 7 - 3, (g::bigint - 75) * 100000000000",
    ),
    ("a numeric(20, 4) primary key", "(g - 75) * 1.25"),
    ("a numeric primary key", "((g - 75) || 'e' || (g % 60 - 30))::numeric"),
    (
        "a text primary key",
        "(array['a', 'B', 'ä', 'Z', '中', '-', ' '])[g % 7 + 1] || g || repeat('x', g % 3)",
    ),
    (
        "a varchar(40) collate \"en-x-icu\" primary key",
        "(array['a', 'B', 'ä', 'Z', '_', '-', ' '])[g % 7 + 1] || g",
    ),
    (
        "a text collate \"C\", b int, primary key (a, b)",
        "(array['a', 'B', 'ä'])[g % 3 + 1], g",
    ),
    (
        "a text collate \"und-x-icu\", b int, primary key (b, a)",
        "(array['a', 'B', 'ä'])[g % 3 + 1], g / 2",
    ),
    (
        "a char(12) collate \"en-x-icu\" primary key",
        "(array['a', 'B', 'ä', 'a b'])[g % 4 + 1] || g",
    ),
    ("a name primary key", "'n' || g"),
    (
        "a bytea primary key",
        "decode(lpad(to_hex(g * 7 % 256), 2, '0') || '00ff' || lpad(to_hex(g), 4, '0'), 'hex')",
    ),
    ("a boolean, b int, primary key (a, b)", "g % 2 = 0, g"),
    ("a date primary key", "date '1900-02-27' + g * 97"),
    (
        "a time primary key",
        "time '00:00:00.000001' + g * interval '9 min 59.1 s'",
    ),
    (
        "a timestamp primary key",
        "timestamp '1969-12-31 23:59:00.5' + g * interval '1.000001 s'",
    ),
    (
        "a timestamptz(3) primary key",
        "timestamptz '1969-12-31 23:59:00.5+08' + g * interval '37 min'",
    ),
    ("a uuid primary key", "md5(g::text)::uuid"),
    ("a oid primary key", "(4294967295 - g)::oid"),
    (
        "a numeric primary key",
        "coalesce((array['NaN', 'Infinity', '-Infinity', '-0.00', '1e-3'])[g]::numeric, g - 75.5)",
    ),
    (
        "a numeric(1000, 400) primary key",
        "('0.' || repeat('1', g) || 'e' || g)::numeric",
    ),
    (
        "a date primary key",
        "coalesce((array['infinity', '-infinity', '0044-03-15 BC', '4713-01-01 BC', '0001-01-01 BC', '5874897-12-31', \
         '12345-06-07'])[g]::date, date '1970-01-01' + g)",
    ),
    (
        "a time primary key",
        "case g when 1 then time '24:00:00' else time '00:00' + g * interval '9 min 1 s' end",
    ),
    (
        "a timestamp primary key",
        "coalesce((array['infinity', '-infinity', '0044-03-15 10:20:30.5 BC', '294276-12-31 23:59:59.999999', \
         '0001-02-29 00:00:00 BC', '4713-01-01 00:00:00 BC'])[g]::timestamp, timestamp '1970-01-01' + g * interval '1 h')",
    ),
    (
        "a timestamptz primary key",
        "coalesce((array['infinity', '-infinity', '0044-03-15 10:20:30.5+05:30 BC', '10000-01-01 00:00+01', \
         '0001-12-31 23:30:00-02 BC'])[g]::timestamptz, timestamptz '1970-01-01 00:00+00' + g * interval '1 h')",
    ),
    (
        "a kinds.code primary key",
        "(array['b', 'A', 'é', 'a'])[g % 4 + 1] || g",
    ),
    (
        "a text collate kinds.ci primary key",
        "(array['b', 'A', 'é', 'Z', '_'])[g % 5 + 1] || g",
    ),
    (
        "a text collate \"POSIX\" primary key",
        "(array['b', 'A', 'é'])[g % 3 + 1] || g",
    ),
    (
        "a text collate kinds.us primary key",
        "(array['b', 'A', 'é', 'a', '_', ' a', '-', 'Z'])[g % 8 + 1] || g",
    ),
    (
        "a int, b varchar(40) collate kinds.us, primary key (b, a)",
        "g / 2, (array['a b', 'ab', 'A-b', 'Ab'])[g % 4 + 1]",
    ),
    (
        "a citext primary key",
        "(array['b', 'A', 'é', 'Z', '_'])[g % 5 + 1] || g",
    ),
    (
        "a kinds.mood, b int, primary key (b, a)",
        "(array['sad', 'OK', 'happy'])[g % 3 + 1]::kinds.mood, g / 3",
    ),
    (
        "a kinds.mood, b int, primary key (a, b)",
        "(array['sad', 'OK', 'happy'])[g % 3 + 1]::kinds.mood, g / 3",
    ),
    ("a inet primary key", "inet '10.0.0.0/8' + g * 77 - g % 2 * 5"),
    ("a cidr primary key", "('10.' || g || '.0.0/16')::cidr"),
    ("a macaddr primary key", "('08:00:2b:01:02:' || to_hex(g))::macaddr"),
    ("a int[] primary key", "array[g % 3, null, -g]"),
    ("a text[] primary key", "array[g::text, 'it''s', 'a,b', '\"', E'\\\\']"),
    ("a int4range primary key", "int4range(g % 5, g + 5)"),
    ("a interval primary key", "g * interval '25 h 1.5 s' - interval '1 mon'"),
    ("a money primary key", "(g - 75)::money"),
    ("a varbit primary key", "(g * 3)::bit(24)::varbit"),
    ("a \"char\", b int, primary key (a, b)", "chr(65 + g % 40)::\"char\", g"),
    ("a jsonb primary key", "jsonb_build_object('it''s', g, 'é', null)"),
    ("a hstore primary key", "hstore('a', g::text)"),
];
