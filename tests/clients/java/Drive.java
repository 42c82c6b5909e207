// Drives the service with the client that OpenAPI Generator makes for Java: upload, job, events, statistics, download.

import java.io.File;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AnonymizationsApi;
import org.openapitools.client.api.JobsApi;
import org.openapitools.client.api.QueriesApi;
import org.openapitools.client.api.ReleasesApi;
import org.openapitools.client.model.*;

class Drive {
    static void same(String what, Object got, Object expected) {
        if (!expected.equals(got)) throw new AssertionError(what + " is " + got + ", not " + expected);
    }

    static String digest(byte[] bytes) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    }

    public static void main(String[] given) throws Exception {
        String address = given[0], key = given[1], path = given[2];
        ApiClient client = new ApiClient();
        client.updateBaseUri(address);
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));

        // The generated call would send the file's name as JSON: a file is sent by the library of Java itself.
        HttpClient http = HttpClient.newHttpClient();
        HttpRequest upload = HttpRequest.newBuilder(URI.create(address + "/v1/datasets?name=java"))
            .header("Authorization", "Bearer " + key).header("Content-Type", "text/csv").header("Prefer", "wait=30")
            .POST(HttpRequest.BodyPublishers.ofFile(Path.of(path))).build();
        String sent = http.send(upload, HttpResponse.BodyHandlers.ofString()).body();
        Dataset dataset = client.getObjectMapper().readValue(sent, Dataset.class);
        same("the digest", dataset.getSha256(), digest(Files.readAllBytes(Path.of(path))));
        same("the columns", dataset.getColumns().size(), 2);

        BoxesRequest body = new BoxesRequest();
        body.method(BoxesRequest.MethodEnum.BOXES).datasetId(dataset.getId()).k(5L).publish(PublicationMode.AUTO);
        body.quasiIdentifiers(List.of("age", "wage"));
        body.statistics(List.of(new Statistic().kind(StatisticKind.MEAN).of(List.of("wage"))));
        AnonymizationsApi anonymizations = new AnonymizationsApi(client);
        BoxesJob submitted = anonymizations.createAnonymization(new AnonymizationRequest(body), null, null).getBoxesJob();

        // The generated call reads all events at once: a stream is read line by line.
        HttpRequest request = HttpRequest.newBuilder(URI.create(address + "/v1/jobs/" + submitted.getId() + "/events"))
            .header("Authorization", "Bearer " + key).build();
        Job[] last = new Job[1];
        for (String line : (Iterable<String>) http.send(request, HttpResponse.BodyHandlers.ofLines()).body()::iterator) {
            if (line.startsWith("data: ")) last[0] = client.getObjectMapper().readValue(line.substring(6), Job.class);
        }
        same("the last state", last[0].getBoxesJob().getState(), "succeeded");

        BoxesJob job = new JobsApi(client).getJob(submitted.getId(), null).getBoxesJob();
        same("the records", job.getResult().getRecords(), 500L);
        ReleasesApi releases = new ReleasesApi(client);
        StatisticsRequest question = new StatisticsRequest().statistics(body.getStatistics());
        StatisticsResult answer = new QueriesApi(client).computeReleaseStatistics(job.getReleaseId(), question, null);
        BoxStatistic stated = releases.getReleaseStatistics(job.getReleaseId(), null)
            .getBoxesStatistics().getStatistics().get(0);
        same("the estimate", answer.getStatistics().get(0).getComputedStatisticOfNumber().getEstimate(),
            stated.getBoxStatisticOfNumber().getEstimate());
        Release release = releases.getRelease(job.getReleaseId(), null);
        for (ReleaseFormat format : List.of(ReleaseFormat.CSV, ReleaseFormat.PARQUET)) {
            File data = releases.getReleaseData(job.getReleaseId(), format, null, null, null, null);
            String expected = release.getFiles().get(format.getValue()).getSha256();
            same("the digest of " + format, digest(Files.readAllBytes(data.toPath())), expected);
        }

        try {
            anonymizations.createAnonymization(new AnonymizationRequest(body.datasetId("ds_absent")), null, null);
            throw new AssertionError("it was not refused");
        } catch (ApiException refused) {
            Problem problem = client.getObjectMapper().readValue(refused.getResponseBody(), Problem.class);
            same("its place", problem.getErrors().get(0).getPointer(), "/dataset_id");
        }
        System.out.println(job.getReleaseId() + " " + answer.getStatistics().get(0).getComputedStatisticOfNumber().getEstimate());
    }
}
