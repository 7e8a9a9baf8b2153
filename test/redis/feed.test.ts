import { describe, it } from "node:test";

import { Feed } from "../../src/redis/feed.ts";
import { until } from "../contract/until.ts";
import { missing, startRedis } from "./server.ts";

describe("the changes that nodes share", { skip: await missing("redis-server") }, () => {
  for (const number of ["9100000000000000", "1"]) {
    it(`reach the other nodes although another client has set their number to ${number}`, async () => {
      await using server = await startRedis();
      const links = [await server.link(), await server.link()] as const;
      const received: string[] = [];
      const changed = (members: readonly string[]): void => void received.push(...members);
      const sender = new Feed(links[0], [{ name: "topic", changed: () => {} }], 2_000);
      // Both are read at once, so a change of the other topic shows that the node has read the number.
      const receiver = new Feed(
        links[1],
        [
          { name: "topic", changed },
          { name: "other", changed },
        ],
        2_000,
      );
      const arrives = async (topic: string, member: string): Promise<void> => {
        await sender.publish(topic, member, "1");
        await until(() => received.includes(member), `${member} is received`);
      };
      await sender.open();
      await receiver.open();
      try {
        await arrives("topic", "first");
        await links[0].call("SET", links[0].key("topic:number"), number);
        await arrives("other", "second");
        await arrives("topic", "third");
      } finally {
        sender.close();
        receiver.close();
        for (const link of links) link.close();
      }
    });
  }
});
