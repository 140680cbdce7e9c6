/** Values of Parquet as the package reads them, and the cells that they become. */
import type { SchemaElement, SchemaTree } from 'hyparquet';
import t from 'tap';
import { parquetColumns } from '#query/imports/formats/parquet-cells.ts';

function node(element: SchemaElement, children: readonly SchemaTree[] = []): SchemaTree {
  return { element, children: [...children], count: 1, path: [element.name] };
}

t.test('a JSON null within a struct is null, not a text', async (t) => {
  const json = node({ name: 'note', type: 'BYTE_ARRAY', converted_type: 'JSON' });
  const plain = node({ name: 'size', type: 'DOUBLE' });
  const [column] = parquetColumns(node({ name: 'root' }, [node({ name: 'about' }, [json, plain])]));
  t.strictSame(column?.read?.({ note: 'null', size: 1 }), { note: null, size: 1 });
  t.strictSame(column?.read?.({ note: '{"a":[null]}', size: undefined }), {
    note: { a: [null] },
    size: null,
  });
  t.equal(column?.read?.(null), null);
});
