// Drives the service with the generated client: upload, job with typed result, events, download. Under `tsc --strict`.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";

import { client } from "./client/client.gen.js";
import {
    createAnonymization,
    createDataset,
    followJob,
    getJob,
    getJobResult,
    getRelease,
    getReleaseData,
    getReleaseStatistics,
} from "./client/index.js";
import type { BoxesJob, BoxesRequest, Job, ReleaseFormat } from "./client/index.js";

const [address, key] = process.argv.slice(2);
assert(address && key);
client.setConfig({ baseUrl: address, auth: key });

function sha256(bytes: Uint8Array): string {
    return createHash("sha256").update(bytes).digest("hex");
}

// The discriminator narrows a job to its method: the compiler knows the fields of `spec` and `result`.
function boxes(job: Job | void): BoxesJob {
    assert(job?.method === "boxes");
    return job;
}

const file = ["age,wage", ...Array.from({ length: 500 }, (_, i) => `${18 + (i % 60)},${1000 + ((i * 7919) % 5003)}`)];
const text = file.join("\n") + "\n";
const { data: dataset, error } = await createDataset({
    body: new Blob([text]),
    headers: { "Content-Type": "text/csv" },
    query: { name: "typescript" },
});
assert(dataset, JSON.stringify(error));
assert.equal(dataset.sha256, sha256(new TextEncoder().encode(text)));
assert.deepEqual(dataset.columns?.map((column) => column.type), ["integer", "integer"]);

const body: BoxesRequest = {
    method: "boxes",
    dataset_id: dataset.id,
    quasi_identifiers: ["age", "wage"],
    k: 5,
    publish: "auto",
    partition: "fast",
    statistics: [{ kind: "mean", of: ["wage"] }],
};
const submitted = boxes((await createAnonymization({ body })).data);

const { stream } = await followJob({ path: { job_id: submitted.id } });
const states: string[] = [];
for await (const event of stream) {
    states.push(boxes(event).state);
}
assert.equal(states.at(-1), "succeeded");

const job = boxes((await getJob({ path: { job_id: submitted.id } })).data);
assert(job.result && job.spec && job.release_id);
const records: number = job.result.records;
const missing: string = job.spec.missing_policy;
assert.deepEqual([records, missing, job.error], [500, "refuse", null]);
assert(job.result.smallest_box >= 5);
const whole = (await getJobResult({ path: { job_id: job.id } })).data;
assert(whole?.method === "boxes");
assert.equal(whole.box_count, job.result.box_count);

const path = { release_id: job.release_id };
const release = (await getRelease({ path })).data;
assert(release);
for (const format of ["parquet", "csv", "ndjson"] satisfies ReleaseFormat[]) {
    const { data } = await getReleaseData({ path, query: { format }, parseAs: "blob" });
    assert(data);
    assert.equal(sha256(await data.bytes()), release.files[format]?.sha256);
}
const statistics = (await getReleaseStatistics({ path })).data?.statistics;
assert.equal(statistics?.length, 1);

const refused = await createAnonymization({ body: { ...body, dataset_id: "ds_absent" } });
assert.equal(refused.error?.status, 422);
assert.deepEqual(refused.error.errors?.map((one) => one.pointer), ["/dataset_id"]);
