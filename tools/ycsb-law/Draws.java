// Draws keys with the generators of YCSB's own jar, and prints how often each came: a line with the law as unblink writes it, a line with
// the numbers of keys and of draws, then a line for each key. In the workload's package, whose nextKeynum is not public.
package site.ycsb.workloads;

import java.util.Properties;
import java.util.function.LongSupplier;
import site.ycsb.generator.ScrambledZipfianGenerator;
import site.ycsb.generator.ZipfianGenerator;
import site.ycsb.measurements.Measurements;

public final class Draws {
  private Draws() {
  }

  public static void main(String[] args) throws Exception {
    int records = Integer.parseInt(args[0]);
    long draws = Long.parseLong(args[1]);
    ZipfianGenerator zipfian = new ZipfianGenerator(records);
    count("ycsb_zipfian(" + records + ")", records, draws, zipfian::nextValue);
    ScrambledZipfianGenerator scrambled = new ScrambledZipfianGenerator(records);
    count("ycsb_scrambled(" + records + ")", records, draws, scrambled::nextValue);
    // As its core workload uses them: zipfian hashes to one more than there are, and what is not there is drawn again.
    count("ycsb_scrambled(" + records + ", modulo=" + (records + 1) + ")", records, draws, core(records, "zipfian"));
    count("ycsb_latest(" + records + ")", records, draws, core(records, "latest"));
    count("ycsb_hotspot(" + records + ")", records, draws, core(records, "hotspot"));
    count("ycsb_exponential(" + records + ")", records, draws, core(records, "exponential"));
  }

  private static LongSupplier core(int records, String distribution) throws Exception {
    Properties properties = new Properties();
    properties.setProperty("recordcount", Integer.toString(records));
    properties.setProperty("operationcount", "1000");
    properties.setProperty("requestdistribution", distribution);
    // The workload asks for where it would report to.
    Measurements.setProperties(properties);
    CoreWorkload workload = new CoreWorkload();
    workload.init(properties);
    return workload::nextKeynum;
  }

  private static void count(String law, int records, long draws, LongSupplier next) {
    long[] counts = new long[records];
    for (long i = 0; i < draws; i++) {
      counts[(int) next.getAsLong()]++;
    }
    StringBuilder out = new StringBuilder(law + "\n" + records + " " + draws + "\n");
    for (long n : counts) {
      out.append(n).append('\n');
    }
    System.out.print(out);
  }
}
