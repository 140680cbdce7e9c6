/** What the stub can do, by the names of the S3 API reference. */
export type OperationName =
  | 'AbortMultipartUpload'
  | 'CompleteMultipartUpload'
  | 'CreateMultipartUpload'
  | 'DeleteObject'
  | 'DeleteObjects'
  | 'GetObject'
  | 'HeadBucket'
  | 'HeadObject'
  | 'ListMultipartUploads'
  | 'ListObjectsV2'
  | 'ListParts'
  | 'PutObject'
  | 'UploadPart';
