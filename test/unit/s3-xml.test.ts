import t from 'tap';
import { documentIn, escapeXml, xmlElements, xmlText } from '#objects/s3/s3-xml.ts';

const readXml = (text: string) => documentIn({ text, status: 200 });

t.test('texts and elements of an answer, whatever its root is called', async (t) => {
  for (const root of ['ListPartsResult', 'ListPartsOutput', 'x']) {
    const answer = readXml(
      `  \n<?xml version="1.0"?>\n <${root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
        <UploadId>a&amp;b</UploadId><Empty/><Also></Also>
        <Part><ETag>&quot;1&#34;</ETag></Part><Part><ETag>"2"</ETag></Part><Alone><A>1</A></Alone></${root}>`,
    );
    t.equal(xmlText(answer, 'UploadId'), 'a&b');
    t.equal(xmlText(answer, 'Empty'), '');
    t.equal(xmlText(answer, 'Also'), '');
    t.equal(xmlText(answer, 'Other'), undefined);
    t.strictSame(
      xmlElements(answer, 'Part').map((part) => xmlText(part, 'ETag')),
      ['"1"', '"2"'],
    );
    t.strictSame(
      xmlElements(answer, 'Alone').map((part) => xmlText(part, 'A')),
      ['1'],
    );
    t.strictSame(xmlElements(answer, 'Other'), []);
    t.equal(xmlText(answer, 'toString'), undefined);
  }
});

t.test('an element with attributes has its text', async (t) => {
  t.equal(xmlText(readXml('<a><b c="d">e</b></a>'), 'b'), 'e');
});

t.test('what is not XML is a broken answer, which is tried again', async (t) => {
  for (const text of ['', 'no', '<a>', '<a><b></a>', '{"a":1}'])
    t.throws(() => readXml(text), { message: 'the answer is not XML', code: 'HPE_BROKEN_ANSWER' }, text);
  t.strictSame(xmlElements(readXml('<a/>'), 'b'), []);
  t.equal(xmlText(readXml('<a>text</a>'), 'b'), undefined);
});

t.test('an error in the place of the document is a failure', async (t) => {
  const text = '<Error><Code>SlowDown</Code><Message>not so fast</Message></Error>';
  t.throws(() => readXml(text), { name: 'S3Failure', status: 200, code: 'SlowDown', message: 'not so fast' });
  t.throws(() => readXml('<Error/>'), { code: 'InternalError' });
});

t.test('texts come back as they were', async (t) => {
  const text = `"a"&amp;<b>'`;
  t.equal(xmlText(readXml(`<a><b>${escapeXml(text)}</b></a>`), 'b'), text);
});
