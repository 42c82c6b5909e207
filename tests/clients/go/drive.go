// Drives the service with the client that OpenAPI Generator makes for Go: upload, job, events, statistics, download.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"surebox"
)

func need(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func same(what string, got, expected any) {
	if got != expected {
		need(fmt.Errorf("%s is %v, not %v", what, got, expected))
	}
}

func digest(bytes []byte) string {
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:])
}

func main() {
	address, key, path := os.Args[1], os.Args[2], os.Args[3]
	configuration := surebox.NewConfiguration()
	configuration.Servers = surebox.ServerConfigurations{{URL: address}}
	configuration.AddDefaultHeader("Authorization", "Bearer "+key)
	client, ctx := surebox.NewAPIClient(configuration), context.Background()

	file, err := os.Open(path)
	need(err)
	text, err := os.ReadFile(path)
	need(err)
	dataset, _, err := client.DatasetsAPI.CreateDataset(ctx).Body(file).Format("csv").Name("go").Execute()
	need(err)
	same("the digest", dataset.GetSha256(), digest(text))
	same("the columns", len(dataset.GetColumns()), 2)

	body := surebox.NewBoxesRequest("boxes", []string{"age", "wage"}, 5)
	body.SetDatasetId(dataset.GetId())
	body.SetPublish(surebox.PUBLICATIONMODE_AUTO)
	body.SetStatistics([]surebox.Statistic{*surebox.NewStatistic(surebox.STATISTICKIND_MEAN, []string{"wage"})})
	made, _, err := client.AnonymizationsAPI.CreateAnonymization(ctx).
		AnonymizationRequest(surebox.BoxesRequestAsAnonymizationRequest(body)).Execute()
	need(err)
	submitted := made.BoxesJob
	same("the state", submitted != nil, true)

	// The generated call reads all events at once: a stream is read line by line.
	request, err := http.NewRequest("GET", address+"/v1/jobs/"+submitted.GetId()+"/events", nil)
	need(err)
	request.Header.Set("Authorization", "Bearer "+key)
	events, err := http.DefaultClient.Do(request)
	need(err)
	var last surebox.Job
	lines := bufio.NewScanner(events.Body)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "data: ") {
			need(json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &last))
		}
	}
	same("the last state", last.BoxesJob.GetState(), "succeeded")

	job, _, err := client.JobsAPI.GetJob(ctx, submitted.GetId()).Execute()
	need(err)
	release := job.BoxesJob.GetReleaseId()
	statistics, _, err := client.ReleasesAPI.GetReleaseStatistics(ctx, release).Execute()
	need(err)
	estimate := statistics.BoxesStatistics.GetStatistics()[0].BoxStatisticOfNumber.GetEstimate()

	files, _, err := client.ReleasesAPI.GetRelease(ctx, release).Execute()
	need(err)
	for name, format := range map[string]surebox.ReleaseFormat{
		"csv": surebox.RELEASEFORMAT_CSV, "parquet": surebox.RELEASEFORMAT_PARQUET,
	} {
		data, _, err := client.ReleasesAPI.GetReleaseData(ctx, release).Format(format).Execute()
		need(err)
		_, err = data.Seek(0, io.SeekStart)
		need(err)
		bytes, err := io.ReadAll(data)
		need(err)
		same("the digest of "+name, digest(bytes), files.GetFiles()[name].Sha256)
	}

	body.SetDatasetId("ds_absent")
	_, _, err = client.AnonymizationsAPI.CreateAnonymization(ctx).
		AnonymizationRequest(surebox.BoxesRequestAsAnonymizationRequest(body)).Execute()
	refused, known := err.(*surebox.GenericOpenAPIError)
	same("a refusal", known, true)
	problem, known := refused.Model().(surebox.Problem)
	same("a problem", known, true)
	same("its place", problem.GetErrors()[0].Pointer, "/dataset_id")

	fmt.Printf("%s %.17g\n", release, estimate)
}
