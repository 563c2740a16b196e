package bench;

import io.debezium.config.Configuration;
import io.debezium.connector.oracle.OracleConnectorConfig;
import io.debezium.connector.oracle.logminer.parser.LogMinerDmlEntry;
import io.debezium.connector.oracle.logminer.parser.LogMinerDmlParser;
import io.debezium.relational.Column;
import io.debezium.relational.Table;
import io.debezium.relational.TableEditor;
import io.debezium.relational.TableId;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/**
 * Debezium's parser over one statement shape: {@code ParserBench i5|i50|u10 ROUNDS SECONDS}.
 *
 * <p>Prints one line a round: rows, CPU nanoseconds of the whole process, the checksum of one pass
 * over the statements. The statements and the checksum are the same in benches/redo_parser.rs.
 */
public class ParserBench {

    private static final int STATEMENTS = 1000;

    /** Passes over the statements before the first round: all is compiled by then. */
    private static final int WARM_UP = 400;

    public static void main(String[] args) {
        final String shape = args[0];
        final int rounds = Integer.parseInt(args[1]);
        final long nanos = (long) (Double.parseDouble(args[2]) * 1e9);
        final int columns = Integer.parseInt(shape.substring(1));
        final boolean update = shape.startsWith("u");
        final Table table = table("SHOP", update ? "ITEM" : "ORDERS", columns);
        final List<String> statements = update ? updates(columns) : inserts(columns);
        final LogMinerDmlParser parser =
                new LogMinerDmlParser(new OracleConnectorConfig(Configuration.empty()));

        long checksum = 0;
        for (int pass = 0; pass < WARM_UP; pass++) {
            checksum = pass(parser, table, statements);
        }
        for (int round = 0; round < rounds; round++) {
            final long cpu = cpu();
            final long deadline = System.nanoTime() + nanos;
            long rows = 0;
            while (System.nanoTime() < deadline) {
                checksum = pass(parser, table, statements);
                rows += statements.size();
            }
            System.out.println(rows + " " + (cpu() - cpu) + " " + checksum);
        }
    }

    /** Parses every statement once and sums up all values. */
    static long pass(LogMinerDmlParser parser, Table table, List<String> statements) {
        long checksum = 0;
        for (String sql : statements) {
            final LogMinerDmlEntry entry = parser.parse(sql, table);
            checksum += checksum(entry.getNewValues());
            checksum += 7 * checksum(entry.getOldValues());
        }
        return checksum;
    }

    /** Touches every character of every value; the column's place counts, so that a swap shows. */
    static long checksum(Object[] values) {
        long checksum = 0;
        for (int column = 0; column < values.length; column++) {
            if (values[column] != null) {
                final String value = (String) values[column];
                final int length = value.length();
                long sum = length;
                for (int i = 0; i < length; i++) {
                    sum += value.charAt(i);
                }
                checksum += (column + 1) * sum;
            }
        }
        return checksum;
    }

    /** CPU time of the whole process: the parser's thread, the compiler and the collector. */
    static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean)
                        ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    static Table table(String owner, String name, int columns) {
        final TableEditor editor = Table.editor().tableId(new TableId(null, owner, name));
        for (int column = 0; column < columns; column++) {
            editor.addColumn(Column.editor().name("C" + column).create());
        }
        return editor.create();
    }

    /** Column 0 a number, every 5th a DATE, every 7th NULL, the others short texts. */
    static String value(int column, int row) {
        if (column == 0) {
            return "'" + (100000 + row) + "'";
        }
        if (column % 5 == 4) {
            return "TO_DATE('2024-05-"
                    + (10 + row % 18)
                    + " 08:30:00', 'YYYY-MM-DD HH24:MI:SS')";
        }
        if (column % 7 == 6) {
            return "NULL";
        }
        return "'value-" + column + "-" + row + "'";
    }

    static List<String> inserts(int columns) {
        final List<String> statements = new ArrayList<>();
        for (int row = 0; row < STATEMENTS; row++) {
            final StringBuilder sql = new StringBuilder("insert into \"SHOP\".\"ORDERS\"(");
            for (int column = 0; column < columns; column++) {
                sql.append(column == 0 ? "" : ",").append("\"C").append(column).append('"');
            }
            sql.append(") values (");
            for (int column = 0; column < columns; column++) {
                sql.append(column == 0 ? "" : ",").append(value(column, row));
            }
            statements.add(sql.append(");").toString());
        }
        return statements;
    }

    /** Two columns set, all columns in WHERE, as with supplemental logging of all columns. */
    static List<String> updates(int columns) {
        final List<String> statements = new ArrayList<>();
        for (int row = 0; row < STATEMENTS; row++) {
            final StringBuilder sql =
                    new StringBuilder("update \"SHOP\".\"ITEM\" set \"C1\" = 'new-")
                            .append(row)
                            .append("', \"C4\" = ")
                            .append(value(4, row + 1))
                            .append(" where ");
            for (int column = 0; column < columns; column++) {
                final String value = value(column, row);
                sql.append(column == 0 ? "" : " and ")
                        .append("\"C")
                        .append(column)
                        .append('"')
                        .append(value.equals("NULL") ? " IS NULL" : " = " + value);
            }
            statements.add(sql.append(";").toString());
        }
        return statements;
    }
}
