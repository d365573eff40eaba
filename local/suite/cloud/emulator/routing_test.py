import threading
import unittest

from werkzeug.routing import Map, Rule

from emulator import routing


class RoutingTest(unittest.TestCase):
    def test_one_at_a_time(self):
        at_work, most, original = [], [], Rule.compile

        def watched(rule):
            at_work.append(rule)
            most.append(len(at_work))
            original(rule)
            at_work.remove(rule)

        Rule.compile = watched
        self.addCleanup(setattr, Rule, "compile", original)
        routing.patch()

        def build():
            for n in range(30):
                Map([Rule(f"/functions/<name>/{n}", endpoint=str(n))])

        threads = [threading.Thread(target=build) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(len(most), 240)
        self.assertEqual(max(most), 1)


if __name__ == "__main__":
    unittest.main()
