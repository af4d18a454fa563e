// node-redis's own filter commands, unchanged: `client.cf` and `client.bf`. Run by
// node_redis_test.py with the server's port; exits with 0 if all is as a user would expect.
const assert = require('node:assert/strict');
const { createClient } = require('redis');

async function spectral(client) {
  assert.equal(await client.cf.reserve('f', 1000, { BUCKETSIZE: 4, MAXITERATIONS: 30, EXPANSION: 2 }),
               'OK');
  assert.equal(await client.cf.add('f', 'a'), true);
  assert.equal(await client.cf.add('f', 'a'), true);
  assert.equal(await client.cf.addNX('f', 'a'), false);
  assert.equal(await client.cf.count('f', 'a'), 2);
  assert.equal(await client.cf.del('f', 'a'), true);
  assert.equal(await client.cf.count('f', 'a'), 1);
  assert.equal(await client.cf.exists('f', 'a'), true);
  assert.equal(await client.cf.exists('f', 'nobody'), false);
  assert.deepEqual(await client.cf.insert('f', ['b', 'c']), [true, true]);
  assert.deepEqual(await client.cf.insertNX('f', ['c', 'd']), [false, true]);
  const info = await client.cf.info('f');
  assert.equal(info.numberOfInsertedItems, 4);
  assert.equal(info.numberOfDeletedItems, 1);
  assert.equal(info.bucketSize, 4);
  assert.equal(info.maxIteration, 30);
  for (let step = { iterator: 0 };;) {
    step = await client.cf.scanDump('f', step.iterator);
    if (step.iterator === 0) break;
    // Debian's version reads the piece as text; only the header's iterator is of use then.
    assert.ok(step.iterator > 0);
    if (step.iterator > 2) break;
  }
  assert.equal(await client.sendCommand(['CF.INCR', 'f', 'a', '9']), 10);
}

async function bloom(client) {
  assert.equal(await client.bf.reserve('b', 0.01, 1000, { EXPANSION: 4 }), 'OK');
  assert.equal(await client.bf.add('b', 'x'), true);
  assert.equal(await client.bf.add('b', 'x'), false);
  assert.deepEqual(await client.bf.mAdd('b', ['x', 'y']), [false, true]);
  assert.equal(await client.bf.exists('b', 'y'), true);
  assert.deepEqual(await client.bf.mExists('b', ['x', 'z']), [true, false]);
  const info = await client.bf.info('b');
  assert.equal(info.capacity, 1000);
  assert.equal(info.numberOfInsertedItems, 2);
  assert.equal(info.expansionRate, 4);
}

async function main() {
  const client = createClient({ url: `redis://127.0.0.1:${process.argv[2]}` });
  await client.connect();
  await spectral(client);
  await bloom(client);
  await client.quit();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
