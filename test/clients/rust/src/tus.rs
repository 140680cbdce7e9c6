//! Uploads a file by tus_client: `tus ENDPOINT FILE PART_BYTES patch|post CUTS`. Prints the address of the upload.
use std::{collections::HashMap, env, path::Path};
use tus_client::http::{HttpHandler, HttpMethod, HttpRequest, HttpResponse};
use tus_client::{Client, Error};

/// Sends requests with a token.
struct Authorized {
    token: String,
}

impl HttpHandler for Authorized {
    fn handle_request(&self, request: HttpRequest) -> Result<HttpResponse, Error> {
        let method = match request.method {
            HttpMethod::Head => minreq::Method::Head,
            HttpMethod::Patch => minreq::Method::Patch,
            HttpMethod::Options => minreq::Method::Options,
            HttpMethod::Post => minreq::Method::Post,
            HttpMethod::Delete => minreq::Method::Delete,
        };
        let mut sent = minreq::Request::new(method, request.url)
            .with_header("Authorization", format!("Bearer {}", self.token))
            // the library leaves it out
            .with_header("Content-Length", request.body.map_or(0, <[u8]>::len).to_string());
        for (name, value) in request.headers {
            sent = sent.with_header(name, value);
        }
        if let Some(body) = request.body {
            sent = sent.with_body(body);
        }
        let answer = sent.send().map_err(|error| Error::HttpHandlerError(error.to_string()))?;
        Ok(HttpResponse { status_code: answer.status_code as usize, headers: answer.headers.clone() })
    }
}

fn main() {
    let given: Vec<String> = env::args().skip(1).collect();
    let [endpoint, file, part_bytes, way] = &given[..] else { panic!("ENDPOINT FILE PART_BYTES patch|post") };
    let handler = Authorized { token: env::var("TOKEN").expect("TOKEN") };
    let client = if way == "post" { Client::with_method_override(handler) } else { Client::new(handler) };
    let path = Path::new(file);
    let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
    let metadata = HashMap::from([("filename".to_owned(), name.to_owned())]);
    let location = client.create_with_metadata(endpoint, path, metadata).expect("the upload begins");
    // RFC 9110 section 10.2.2: a Location may be relative, and the library takes it as it is
    let origin = endpoint.split("/_f_/").next().expect("an origin");
    let address = format!("{origin}{location}");
    let part_bytes = part_bytes.parse().expect("a number");
    let mut cuts = 0;
    while let Err(error) = client.upload_with_chunk_size(&address, path, part_bytes) {
        let Error::HttpHandlerError(_) = error else { panic!("{error:?}") };
        cuts += 1;
        assert!(cuts < 10, "{error:?}");
    }
    println!("{address}");
}
