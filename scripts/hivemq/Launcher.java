import com.hivemq.embedded.EmbeddedHiveMQ;
import java.nio.file.Files;
import java.nio.file.Path;

/** Runs HiveMQ CE, which has no runnable package of its own, from a folder with conf/config.xml until SIGTERM. */
public final class Launcher {
  public static void main(String[] args) throws Exception {
    Path home = Path.of(args[0]);
    EmbeddedHiveMQ broker = EmbeddedHiveMQ.builder()
        .withConfigurationFolder(home.resolve("conf"))
        .withDataFolder(Files.createDirectories(home.resolve("data")))
        .withExtensionsFolder(Files.createDirectories(home.resolve("extensions")))
        .build();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> broker.stop().join()));
    broker.start().join();
    Thread.currentThread().join();
  }
}
