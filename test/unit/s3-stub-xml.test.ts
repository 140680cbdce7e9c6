import fc from 'fast-check';
import t from 'tap';
import { childText, parseXml } from '../services/s3-stub/parse-xml.ts';
import { errorDocument, xmlDocument } from '../services/s3-stub/render-xml.ts';
import { S3Error } from '../services/s3-stub/s3-error.ts';
import { thrownBy } from '../services/thrown-by.ts';
import '../services/test-size.ts';

t.test('what is rendered is parsed again', async (t) => {
  const root = parseXml(
    xmlDocument('Root', [
      ['Text', `a<b>&"c"'d' \r\n ü `],
      ['Number', 7],
      null,
      [
        'List',
        [
          ['Item', true],
          ['Item', ''],
        ],
      ],
    ]),
  );
  t.equal(root.name, 'Root');
  t.equal(childText(root, 'Text'), `a<b>&"c"'d' \r\n ü `);
  t.equal(childText(root, 'Number'), '7');
  t.strictSame(
    root.children[2]?.children.map((item) => item.text),
    ['true', ''],
  );
  t.equal(childText(root, 'None'), undefined);
  t.match(errorDocument([['Code', 'X']]), /<Error><Code>X<\/Code><\/Error>$/);

  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const parsed = parseXml(xmlDocument('Root', [['Text', text]]));
      return childText(parsed, 'Text') === text;
    }),
  );
});

t.test('the forms that clients send', async (t) => {
  const source = `<?xml version="1.0"?>
    <!-- parts --><A xmlns="http://x/" b='c'><B/><C>&#65;&#x42;&lt;</C ></A>
  `;
  const root = parseXml(source);
  t.equal(root.name, 'A');
  t.equal(childText(root, 'B'), '');
  t.equal(childText(root, 'C'), 'AB<');
});

t.test('what is not well-formed is MalformedXML', async (t) => {
  for (const source of [
    '',
    'text',
    '<a>',
    '</a>',
    '<a></b>',
    '<a></a><b></b>',
    '<a></a>text',
    '<a>&unknown;</a>',
    '<a>&#x110000;</a>',
    '<a>& b</a>',
    '<!DOCTYPE a><a/>',
    '<a b=c></a>',
    '<1/>',
    '<a',
  ]) {
    const error = thrownBy(() => parseXml(source));
    t.equal(error instanceof S3Error && error.code, 'MalformedXML', JSON.stringify(source));
  }
});
