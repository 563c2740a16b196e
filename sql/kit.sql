-- What the tests of this folder stand on: saying what is wrong, and sessions of their own. Knows nothing of any connector.
CREATE EXTENSION dblink SCHEMA public;
CREATE SCHEMA kit;

CREATE FUNCTION kit.check(passed boolean, what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF passed IS NOT TRUE THEN
    RAISE EXCEPTION 'FAILED: %', what;
  END IF;
END $$;

CREATE FUNCTION kit.same(actual anycompatible, expected anycompatible, what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF actual IS DISTINCT FROM expected THEN
    RAISE EXCEPTION E'FAILED: %\n--- actual\n%\n--- expected\n%', what, actual, expected;
  END IF;
END $$;

-- What a call answers: 'ok', or its error's text.
CREATE FUNCTION kit.outcome(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE command;
  RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLERRM;
END $$;

-- Sessions of their own.
CREATE FUNCTION kit.open(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.dblink_connect(name, current_setting('kit.connection'));
END $$;
CREATE FUNCTION kit.run(name text, command text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.dblink_exec(name, command);
END $$;
CREATE FUNCTION kit.ask(name text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  SELECT a INTO answer FROM public.dblink(name, query) d(a text);
  RETURN answer;
END $$;
CREATE FUNCTION kit.close(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.dblink_disconnect(name);
END $$;
