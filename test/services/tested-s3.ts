const { S3_TEST_ENDPOINT, S3_TEST_BUCKET, S3_TEST_REGION, S3_TEST_ACCESS_KEY_ID, S3_TEST_SECRET_ACCESS_KEY } =
  process.env;

/** The variables by which a process of ours stores in the S3 server of a suite; none where the suite has no server. */
export const testedS3: Readonly<Record<string, string>> =
  S3_TEST_ENDPOINT === undefined
    ? {}
    : {
        S3_ENDPOINT: S3_TEST_ENDPOINT,
        S3_BUCKET: S3_TEST_BUCKET ?? '',
        S3_REGION: S3_TEST_REGION ?? '',
        S3_ACCESS_KEY_ID: S3_TEST_ACCESS_KEY_ID ?? '',
        S3_SECRET_ACCESS_KEY: S3_TEST_SECRET_ACCESS_KEY ?? '',
      };
