import t from 'tap';
import { escapeUri, s3ObjectUrls } from '#objects/s3/s3-address.ts';

const aws = { bucket: 'photos', endpoint: undefined, region: 'eu-west-1', forcePathStyle: false };

t.test('addresses of objects', async (t) => {
  for (const [place, url] of [
    [aws, 'https://photos.s3.eu-west-1.amazonaws.com/o/p/n.png'],
    [{ ...aws, forcePathStyle: true }, 'https://s3.eu-west-1.amazonaws.com/photos/o/p/n.png'],
    [{ ...aws, region: 'cn-north-1' }, 'https://photos.s3.cn-north-1.amazonaws.com.cn/o/p/n.png'],
    // a wildcard certificate covers one label, and host names have no capitals
    [{ ...aws, bucket: 'my.photos' }, 'https://s3.eu-west-1.amazonaws.com/my.photos/o/p/n.png'],
    [
      { ...aws, endpoint: 'https://s3.example.com', bucket: 'My_Photos' },
      'https://s3.example.com/My_Photos/o/p/n.png',
    ],
    [{ ...aws, endpoint: 'https://s3.example.com' }, 'https://photos.s3.example.com/o/p/n.png'],
    [
      { ...aws, endpoint: 'http://127.0.0.1:9000', forcePathStyle: true },
      'http://127.0.0.1:9000/photos/o/p/n.png',
    ],
    [{ ...aws, endpoint: 'http://[::1]:9000', forcePathStyle: true }, 'http://[::1]:9000/photos/o/p/n.png'],
    [
      { ...aws, endpoint: 'https://example.com/s3', forcePathStyle: true },
      'https://example.com/s3/photos/o/p/n.png',
    ],
  ] as const) {
    t.equal(s3ObjectUrls(place)('o/p/n.png'), url);
  }
});

t.test('keys are percent-encoded, and stay one path', async (t) => {
  const url = s3ObjectUrls(aws)("o/p/100% ü+&?#=;:@'()*!~-_.png");
  t.equal(
    url,
    'https://photos.s3.eu-west-1.amazonaws.com/o/p/100%25%20%C3%BC%2B%26%3F%23%3D%3B%3A%40%27%28%29%2A%21~-_.png',
  );
  t.equal(decodeURIComponent(new URL(url).pathname), "/o/p/100% ü+&?#=;:@'()*!~-_.png");
});

t.test('everything but the unreserved characters of RFC 3986 section 2.3 is encoded', async (t) => {
  for (let code = 0x20; code < 0x7f; code++) {
    const character = String.fromCharCode(code);
    const plain = /[A-Za-z0-9._~-]/.test(character);
    t.equal(escapeUri(character), plain ? character : `%${code.toString(16).toUpperCase()}`);
  }
});
